/**
 * Diagram: a machine as a Mermaid `stateDiagram-v2` with nested states.
 *
 * Draws every transition that changes the state. Left to the table: transitions without target, those of the whole machine, and
 * those from a state into itself or its own inside, which Mermaid cannot lay out.
 */

import type { AnyStateMachine, AnyStateNode } from "xstate";
import { nodesOf, type Row, rowsOf } from "./describe.ts";

const RESERVED = new Set(["state", "end", "note", "direction", "default", "class", "root", "click", "style"]);

/** The diagram's source, without the fence. */
export function diagramOf(machine: AnyStateMachine): string {
  const lines = ["stateDiagram-v2", ...body(machine.root, "  ")];
  for (const [edge, labels] of edges(machine)) lines.push(`  ${edge}${labels.length > 0 ? ` : ${labels.join("\\n")}` : ""}`);
  return lines.join("\n");
}

function body(node: AnyStateNode, indent: string): string[] {
  const children = Object.values(node.states) as AnyStateNode[];
  const lines: string[] = [];
  const start = node.type === "compound" ? node.initial?.target?.[0] : undefined;
  if (start) lines.push(`${indent}[*] --> ${idOf(start as AnyStateNode)}`);
  children.forEach((child, index) => {
    if (node.type === "parallel" && index > 0) lines.push(`${indent}--`);
    const label = child.type === "history" ? "(history)" : child.key;
    lines.push(`${indent}state "${label}" as ${idOf(child)}`);
    if (Object.keys(child.states).length > 0) lines.push(`${indent}state ${idOf(child)} {`, ...body(child, `${indent}  `), `${indent}}`);
    if (child.type === "final") lines.push(`${indent}${idOf(child)} --> [*]`);
  });
  return lines;
}

function edges(machine: AnyStateMachine): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const row of nodesOf(machine.root).flatMap((node) => rowsOf(machine, node))) {
    for (const target of row.targets) {
      if (row.source === machine.root || isInside(target, row.source)) continue;
      const edge = `${idOf(row.source)} --> ${idOf(target)}`;
      const label = labelOf(row);
      const labels = found.get(edge) ?? [];
      if (!labels.includes(label)) labels.push(label);
      found.set(edge, labels);
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
  // Mermaid ends a statement at a semicolon and starts an entity at a hash.
  return `${row.trigger}${guard}`.replace(/[;#:]/g, " ");
}

function idOf(node: AnyStateNode): string {
  const id = node.path.join("_").replace(/[^A-Za-z0-9_]/g, "_");
  return RESERVED.has(id) ? `${id}_` : id;
}
