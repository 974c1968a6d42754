/**
 * Diagram: a machine as a Mermaid flowchart with nested states; in Mermaid's state diagrams no arrow can have a colour.
 *
 * Draws every transition that changes the state, coloured by whether a generated path takes it. Left to the table: transitions without
 * target, those of the whole machine, and those between a state and what it is inside of, which Mermaid cannot lay out.
 */

import type { AnyStateMachine, AnyStateNode } from "xstate";
import { nodesOf, type Row, rowsOf } from "./describe.ts";

const RESERVED = new Set(["end", "graph", "flowchart", "subgraph", "default", "class", "root", "click", "style", "direction"]);

/** The colour of what a path takes, and of what none does. */
const COVERED = "stroke:#2da44e";
const UNCOVERED = "stroke:#cf222e,stroke-dasharray:4";

/** The diagram's source, without the fence. `covered` holds the ids of transitions that paths take. */
export function diagramOf(machine: AnyStateMachine, covered: ReadonlySet<string>): string {
  const lines = ["flowchart TD", ...body(machine.root, "  ")];
  const starts = nodesOf(machine.root).flatMap((node) => startOf(node));
  for (const [from, to] of starts) lines.push(`  ${from} --> ${to}`);
  const colours = new Map<string, number[]>([
    [COVERED, []],
    [UNCOVERED, []],
  ]);
  let index = starts.length;
  for (const [edge, { labels, arrows }] of edges(machine)) {
    const [from, to] = edge.split(" ");
    lines.push(`  ${from} -->|"${labels.join("<br>")}"| ${to}`);
    colours.get(arrows.every((arrow) => covered.has(arrow)) ? COVERED : UNCOVERED)?.push(index++);
  }
  for (const [style, indexes] of colours) if (indexes.length > 0) lines.push(`  linkStyle ${indexes.join(",")} ${style}`);
  return lines.join("\n");
}

function body(node: AnyStateNode, indent: string): string[] {
  const lines = startOf(node).map(([from]) => `${indent}${from}(( ))`);
  for (const child of Object.values(node.states) as AnyStateNode[]) {
    const [id, label] = [idOf(child), child.type === "history" ? "(history)" : child.key];
    if (Object.keys(child.states).length > 0)
      lines.push(`${indent}subgraph ${id}["${label}"]`, ...body(child, `${indent}  `), `${indent}end`);
    else lines.push(`${indent}${id}${child.type === "final" ? `((("${label}")))` : `("${label}")`}`);
  }
  return lines;
}

/** The dot at which a state with states of its own begins, and where it leads. */
function startOf(node: AnyStateNode): [string, string][] {
  const target = node.type === "compound" ? node.initial?.target?.[0] : undefined;
  return target ? [[`${idOf(node) || "machine"}_start`, idOf(target as AnyStateNode)]] : [];
}

interface Edge {
  readonly labels: string[];
  readonly arrows: string[];
}

function edges(machine: AnyStateMachine): Map<string, Edge> {
  const found = new Map<string, Edge>();
  for (const row of nodesOf(machine.root).flatMap((node) => rowsOf(machine, node))) {
    for (const target of row.targets) {
      if (row.source === machine.root || isInside(target, row.source) || isInside(row.source, target)) continue;
      const key = `${idOf(row.source)} ${idOf(target)}`;
      const edge = found.get(key) ?? { labels: [], arrows: [] };
      const label = labelOf(row);
      if (!edge.labels.includes(label)) edge.labels.push(label);
      edge.arrows.push(row.arrow ?? "");
      found.set(key, edge);
    }
  }
  return found;
}

function isInside(node: AnyStateNode, outer: AnyStateNode): boolean {
  if (node === outer) return Object.keys(outer.states).length > 0;
  return node.parent !== undefined && (node.parent === outer || isInside(node.parent as AnyStateNode, outer));
}

function labelOf(row: Row): string {
  const guard = row.guard === "" ? "" : ` [${row.guard}]`;
  // Mermaid starts an entity at a hash, and a label ends at a quotation mark.
  return `${row.trigger}${guard}`.replaceAll("#", " ").replaceAll('"', "'");
}

function idOf(node: AnyStateNode): string {
  const id = node.path.join("_").replace(/[^A-Za-z0-9_]/g, "_");
  return RESERVED.has(id) ? `${id}_` : id;
}
