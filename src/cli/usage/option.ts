/** Options: what commands have in common, and what a value may look like. */

import { type Command, InvalidArgumentError, Option } from "commander";
import type { Task } from "../result.ts";

/** Adds a command with a description and examples. */
export type Add = (name: string, description: string, examples: readonly string[]) => Command;

/** Receives what the arguments ask for. `attends`: the task looks after Ctrl-C itself. */
export type Perform = (task: Task, json: boolean, attends?: boolean) => void;

/** How an id, an address or a key may be given; see id.ts. */
export const PART = "or 4 or more characters of its beginning or end";

/** Rows of one page, at most. */
const PAGE_LIMIT = 500;

export function jsonOption(): Option {
  return new Option("--json", "print one JSON document on stdout and nothing else there");
}

/** The options that every command takes, last in its help. */
export function withCommon(command: Command, root: string | null = ".holdfast"): Command {
  return command
    .option(
      "--root <DIR>",
      root === null ? "a new folder for the state root (default: in a temporary one)" : "the state root",
      root ?? undefined,
    )
    .addOption(jsonOption());
}

export function withPage(command: Command, limit: number, what: string): Command {
  return command
    .option("--limit <N>", `${what} on one page, 1 to ${PAGE_LIMIT}`, wholeNumber(1, PAGE_LIMIT), limit)
    .option("--after <CURSOR>", `go on after this cursor; a page ends with the next one's`, wholeNumber(0, Number.MAX_SAFE_INTEGER), 0);
}

/** Takes an option that is given once or several times. */
export function collected(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text];
}

/**
 * Refuses a value that is empty or looks like an option, wherever a value is demanded: `--root --json` is a value forgotten, and an
 * empty path would be the current folder.
 */
export function refuseForgottenValues(command: Command): void {
  for (const option of command.options) {
    if (!option.required) continue;
    const { parseArg } = option;
    option.argParser((value: string, before: unknown) => {
      if (value === "") throw new InvalidArgumentError("Expected a value.");
      if (/^--?[a-z]/i.test(value))
        throw new InvalidArgumentError("Expected a value; this looks like an option. For a file, write ./ before it.");
      return parseArg ? parseArg(value, before as never) : value;
    });
  }
  for (const child of command.commands) refuseForgottenValues(child);
}

function wholeNumber(from: number, to: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,16}$/.test(text) || value < from || value > to)
      throw new InvalidArgumentError(`Expected a whole number from ${from} to ${to}.`);
    return value;
  };
}

/** What a command says that writes without being the program. */
export const OWNER_TEXT = `
No process may own the root; a running program calls the method of the same
name.`;
