/** Machine page: one machine as diagram, states, transitions, effects, facts and events. */

import type { AnyStateMachine, AnyStateNode } from "xstate";
import type { z } from "zod";
import { countOf, plural } from "../../src/agent/count.ts";
import type { MachinePaths } from "../../src/testing/paths.ts";
import { actionText, implementationText, nodesOf, pathOf, type Row, rowsOf, schemasOf } from "./describe.ts";
import { diagramOf } from "./diagram.ts";
import { code, page, table } from "./markdown.ts";
import { describeSchema } from "./schema-text.ts";

/** `source` is the machine's file, relative to the root of the repository; `paths` are those that its tests run. */
export function machinePage(machine: AnyStateMachine, source: string, paths: MachinePaths): string {
  const schemas = schemasOf(machine);
  return page(
    `# Machine ${code(machine.id)}`,
    machine.root.description,
    `Version ${code(versionOf(machine))}. Source: [${source}](../../${source}).`,
    `## Diagram\n\n\`\`\`mermaid\n${diagramOf(machine, new Set(paths.covered))}\n\`\`\`\n\nNot drawn: what does not change the state, and what every state takes. The table below is complete.`,
    coverage(paths),
    `## States\n\n${statesTable(machine)}`,
    `## Transitions\n\n${transitionsTable(machine)}`,
    actionsSection(machine),
    effectsSection(machine),
    payloads("Facts", "What the machine states in its journal.", schemas.facts ?? {}, () => ""),
    payloads("Events", "What the machine takes, with the payload of each.", schemas.events ?? {}, (type) => originOf(machine, type)),
    single("Input", "What a new actor is created with.", schemas.input),
    single("Context", "What an actor remembers.", schemas.context),
  );
}

/** The index of all machine pages. */
export function machineIndex(machines: readonly AnyStateMachine[]): string {
  const rows = machines.map((machine) => [
    `[${machine.id}](${machine.id}.md)`,
    versionOf(machine),
    String(nodesOf(machine.root).length - 1),
    firstSentence(machine.root.description ?? ""),
  ]);
  return page(
    "# Machines",
    "What may happen, and only this. Each page is made from the machine that runs.",
    table(["Machine", "Version", "States", "About"], rows),
  );
}

/** What the colours of the arrows mean. */
function coverage({ paths, covered, transitions, guards, uncovered }: MachinePaths): string {
  const sums = `${plural(paths.length, "generated path")} ${paths.length === 1 ? "takes" : "take"} ${countOf(covered.length)} of ${plural(transitions, "transition")}`;
  const both = `${paths.length === 1 ? "asks" : "ask"} its ${plural(guards, "guard")}`;
  const rest = uncovered.length === 0 ? ", for both answers" : `. Not covered:\n\n${uncovered.map((one) => `- ${code(one)}`).join("\n")}`;
  return `Green arrows are taken by a path that the tests run on the real store; dashed ones are not. ${sums} and ${both}${rest}${uncovered.length === 0 ? "." : ""}`;
}

function versionOf(machine: AnyStateMachine): string {
  return String((machine.config as { version?: string }).version ?? "none");
}

function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text;
}

function statesTable(machine: AnyStateMachine): string {
  const rows = nodesOf(machine.root)
    .slice(1)
    .map((node) => [code(pathOf(node)), kindOf(node), node.tags.map(code).join(", "), node.description ?? ""]);
  return table(["State", "Kind", "Tags", "What is known"], rows);
}

function kindOf(node: AnyStateNode): string {
  const initial = (node.parent?.initial?.target as readonly AnyStateNode[] | undefined)?.includes(node);
  const kind = node.type === "atomic" || node.type === "compound" ? "" : node.type;
  return [initial ? "initial" : "", kind].filter(Boolean).join(", ");
}

function transitionsTable(machine: AnyStateMachine): string {
  const rows = nodesOf(machine.root).flatMap((node) => rowsOf(machine, node).map((row) => cells(row)));
  return table(["State", "Event or condition", "Guard", "Target", "Actions"], rows);
}

function cells(row: Row): string[] {
  const target = row.targets.map((node) => code(pathOf(node))).join(", ");
  return [
    row.source.path.length === 0 ? "(any)" : code(pathOf(row.source)),
    row.trigger.startsWith("(") ? row.trigger : code(row.trigger),
    row.guard === "" ? "" : code(row.guard),
    target === "" ? "" : `${target}${row.reenter ? " (entered again)" : ""}`,
    [row.actions.join("; "), row.description ?? ""].filter(Boolean).join(". "),
  ];
}

function actionsSection(machine: AnyStateMachine): string | undefined {
  const used = new Set<string>();
  for (const node of nodesOf(machine.root)) {
    const lists = [
      node.entry,
      node.exit,
      ...[...node.transitions.values(), node.always ?? []].flat().map((transition) => transition.actions),
    ];
    for (const action of lists.flat() as unknown[]) if (typeof action !== "function" && isNamed(machine, action)) used.add(nameOf(action));
  }
  if (used.size === 0) return undefined;
  const rows = [...used].sort().map((name) => [code(name), implementationText(machine, name)]);
  return `## Named actions\n\n${table(["Action", "Does"], rows)}`;
}

function nameOf(action: unknown): string {
  return typeof action === "string" ? action : (action as { type: string }).type;
}

/** Actions of the engine are written out where they are used; only the machine's own need a line here. */
function isNamed(machine: AnyStateMachine, action: unknown): boolean {
  return actionText(machine, action).startsWith("`");
}

function effectsSection(machine: AnyStateMachine): string | undefined {
  const effects = Object.entries(schemasOf(machine).effects ?? {});
  if (effects.length === 0) return undefined;
  const rows = effects.map(([name, effect]) => {
    const { params: _, delivery, done, failed, aborted, ...limits } = effect;
    const event = (type: unknown): string => (typeof type === "string" ? code(type) : "");
    const bounds = Object.entries(limits).map(([limit, value]) => `${code(limit)} ${JSON.stringify(value)}`);
    return [code(name), String(delivery ?? "").replaceAll("_", " "), event(done), event(failed), event(aborted), bounds.join(", ")];
  });
  const params = effects.map(([name, effect]) => payload(name, effect.params as z.ZodType | undefined, ""));
  return [
    "## Effects",
    "Outside work that the machine requests. A limit that is not named here has the engine's default.",
    table(["Effect", "Delivery", "Success", "Failure", "Aborted", "Limits"], rows),
    "Params:",
    params.join("\n"),
  ].join("\n\n");
}

function originOf(machine: AnyStateMachine, type: string): string {
  if (/^(engine|effect)\./.test(type)) return "made by the engine";
  for (const [name, effect] of Object.entries(schemasOf(machine).effects ?? {}))
    if ([effect.done, effect.failed, effect.aborted].includes(type)) return `outcome of effect ${code(name)}`;
  return "";
}

function payloads(
  title: string,
  about: string,
  schemas: Readonly<Record<string, z.ZodType>>,
  origin: (type: string) => string,
): string | undefined {
  const entries = Object.entries(schemas);
  if (entries.length === 0) return undefined;
  return `## ${title}\n\n${about}\n\n${entries.map(([type, schema]) => payload(type, schema, origin(type))).join("\n")}`;
}

function single(title: string, about: string, schema: z.ZodType | undefined): string | undefined {
  return schema ? `## ${title}\n\n${about}\n\n\`\`\`ts\n${describeSchema(schema).text}\n\`\`\`` : undefined;
}

/** One list item: the name, where it comes from, its description, and its payload on the same line or in a block. */
function payload(name: string, schema: z.ZodType | undefined, origin: string): string {
  const { text, description } = schema ? describeSchema(schema) : { text: "{}", description: undefined };
  const about = [origin, description].filter(Boolean).join(". ");
  const head = `- ${code(name)}${about === "" ? "" : ` (${about})`}`;
  if (text === "{}") return head;
  if (!text.includes("\n") && !text.includes("`")) return `${head}: ${code(text)}`;
  return `${head}:\n\n  \`\`\`ts\n  ${text.replaceAll("\n", "\n  ")}\n  \`\`\`\n`;
}
