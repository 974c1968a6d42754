/** Report: verdicts as a table for a terminal, and as the page `docs/mutation.md`. */

import type { AnyStateMachine } from "xstate";
import { definitionOf } from "../../src/actor/definition.ts";
import { code, table } from "../docs/markdown.ts";
import { EXPLAINED } from "./explained.ts";
import type { Verdict } from "./judge.ts";
import { KINDS } from "./mutant.ts";

const COLUMNS = ["machine", ...KINDS.map((kind) => `${kind}s`), "killed", "by rows", "stillborn"];

/** `killed/mutants`, without those that are stillborn. */
function score(verdicts: readonly Verdict[]): string {
  const born = verdicts.filter(({ fate }) => fate !== "stillborn");
  return `${born.filter(({ fate }) => fate === "killed").length}/${born.length}`;
}

function row(name: string, verdicts: readonly Verdict[]): string[] {
  const count = (isMeant: (verdict: Verdict) => boolean) => String(verdicts.filter(isMeant).length);
  return [
    name,
    ...KINDS.map((kind) => score(verdicts.filter((verdict) => verdict.kind === kind))),
    score(verdicts),
    count(({ stage }) => stage === "rows"),
    count(({ fate }) => fate === "stillborn"),
  ];
}

function rows(verdicts: readonly Verdict[]): string[][] {
  const machines = [...new Set(verdicts.map(({ machine }) => machine))];
  const each = machines.map((machine) =>
    row(
      machine,
      verdicts.filter((verdict) => verdict.machine === machine),
    ),
  );
  return machines.length === 1 ? each : [...each, row("all", verdicts)];
}

const survivors = (verdicts: readonly Verdict[]) => verdicts.filter(({ fate }) => fate === "survived" || fate === "explained");

/** For a terminal: `killed/mutants` by machine and kind, then who survived. */
export function text(verdicts: readonly Verdict[]): string {
  const lines = [COLUMNS, ...rows(verdicts)];
  const widths = COLUMNS.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  const left = survivors(verdicts).map(({ id }) => `${id}${Object.hasOwn(EXPLAINED, id) ? ` (explained: ${EXPLAINED[id]})` : ""}`);
  return [
    ...lines.map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join("  ")
        .trimEnd(),
    ),
    "",
    ...(left.length === 0 ? ["survivors: none"] : ["survivors:", ...left]),
  ].join("\n");
}

const INTRODUCTION = `<!-- Written by \`npm run mutate\`. Do not edit. -->

# Mutation

A rule of a machine that can be deleted without a test noticing is not tested. \`npm run mutate\` deletes each guard, target, action,
transition and state of each machine in turn, and expects a row of the machine's table, or else a row of the decision matrix, an invariant
or a test of the runtime to fail. The machine's generated paths do not count, for they follow what the machine is, nor does any test that
holds the machine against itself. This page is what the last whole run found; it is not part of the checks of a change, so a machine with
another definition than the one below was changed since.

Cells are \`killed/mutants\`. What XState or the engine refuses to build, such as a machine without an initial state, is stillborn.`;

/** The page. The same verdicts give the same bytes. */
export function page(machines: readonly AnyStateMachine[], verdicts: readonly Verdict[]): string {
  const definitions = machines.map((machine) => [
    `[${machine.id}](machines/${machine.id}.md)`,
    String((machine.config as { version?: unknown }).version),
    code(definitionOf(machine).slice(0, 16)),
  ]);
  const left = survivors(verdicts).map(({ id }) => [code(id), EXPLAINED[id] ?? "**not explained**"]);
  return [
    INTRODUCTION,
    table(COLUMNS, rows(verdicts)),
    "## Survivors",
    left.length === 0 ? "None." : table(["mutant", "why no test notices it"], left),
    "## Of which machines",
    `${table(["machine", "version", "definition"], definitions)}\n`,
  ].join("\n\n");
}
