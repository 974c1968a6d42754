/** `holdfast machine check FILE`: what keeps the machines of a file from being durable. */

import { resolve } from "node:path";
import { definitionOf } from "../../actor/definition.ts";
import { checkMachine } from "../../actor/machine-check.ts";
import type { MachineProblem } from "../../actor/problem.ts";
import { EXIT } from "../exit.ts";
import { oneLine, plural, wrap } from "../format.ts";
import { type Machine, machinesOf } from "../machine-file.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";

/** Bound on a line of a problem; they quote names of the machine. */
const TEXT_LIMIT = 1000;

/** Checks all machines that a module exports. Throws `argument_invalid`, `module_unloadable`, `machine_not_found`. */
export async function machineCheckCommand(given: string, _options: CommonOptions, screen: Screen): Promise<Result> {
  const file = resolve(given);
  const found = await machinesOf(file, "FILE");
  const checked = found.map(({ name, machine }) => ({ name, machine, problems: checkMachine(machine) }));
  return {
    exit: checked.every(({ problems }) => problems.length === 0) ? EXIT.done : EXIT.failed,
    document: { file, machines: checked.map(({ name, machine, problems }) => item(name, machine, problems)) },
    lines: checked.flatMap(({ name, machine, problems }) => lines(name, machine, problems, screen)),
  };
}

function item(name: string, machine: Machine, problems: readonly MachineProblem[]): object {
  const ok = problems.length === 0;
  return {
    export: name,
    id: machine.id,
    version: versionOf(machine),
    definition: ok ? definitionOf(machine) : null,
    ok,
    problems: problems.map(({ path, problem, remedy }) => ({ path, problem, remedy })),
  };
}

function lines(name: string, machine: Machine, problems: readonly MachineProblem[], screen: Screen): string[] {
  const version = versionOf(machine);
  const title = `${oneLine(machine.id)}${version === null ? "" : `, version ${oneLine(version)}`}  (export ${oneLine(name)})`;
  if (problems.length === 0) return [`${screen.style("green", "ok")}  ${title}`];
  const said = problems.flatMap(({ path, problem, remedy }) => [
    ...wrap(oneLine(`${path} ${problem}`, TEXT_LIMIT), screen.proseColumns - 2).map((line) => `  ${line}`),
    ...wrap(oneLine(remedy, TEXT_LIMIT), screen.proseColumns - 6).map((line) => `      ${line}`),
  ]);
  return [`${screen.style("red", plural(problems.length, "problem"))}  ${title}`, ...said];
}

function versionOf(machine: Machine): string | null {
  const { version } = machine.config as { version?: unknown };
  return typeof version === "string" ? version : null;
}
