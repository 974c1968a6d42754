/** The command's part of the code registry. */

import { type CodeEntry, type ErrorDetails, HoldfastError } from "../actor/error.ts";
import { CODES } from "../agent/error.ts";

/** Codes that only the command gives. */
export const CLI_CODES = {
  ambiguous: {
    retryable: false,
    cause: "The beginning or the end of an id that was given belongs to several.",
    remedy: "Give more of it; `details.candidates` and the message name what it may mean.",
  },
  command_failed: {
    retryable: false,
    failure: true,
    cause: "The command met an error that has no code of its own.",
    remedy: "The message is the original one. If it reads like a fault of Holdfast, report it with the text on stderr.",
  },
  command_interrupted: {
    retryable: true,
    cause: "The command was ended by Ctrl-C or a signal before it was done.",
    remedy: "Call it again. A run that was under way was stopped, and can be continued with `holdfast resume RUN`.",
  },
  demo_failed: {
    retryable: false,
    failure: true,
    cause: "The demo saw something that should not happen: a process ended early, or what was recorded is not what was expected.",
    remedy: "The message says what. The state root is left in place: `holdfast ls` and `holdfast verify` read it.",
  },
  demo_timeout: {
    retryable: true,
    failure: true,
    cause: "A process of the demo gave no sign of life for two minutes.",
    remedy: "Call it again, on a smaller or a local folder.",
  },
  file_unwritable: {
    retryable: true,
    failure: true,
    cause: "A file that the command should write cannot be written.",
    remedy: "Name another place with `--out`.",
  },
  machine_not_found: {
    retryable: false,
    cause: "The file exports no machine of XState.",
    remedy: "Export what `setup().createMachine()` gives, by itself or in a list.",
  },
  module_unloadable: {
    retryable: false,
    cause: "The file cannot be imported: it has a syntax error, needs a module that is not there, threw, or called process.exit.",
    remedy: "The message is the original one. TypeScript is read as Node reads it: types are erased, and imports name their extension.",
  },
  output_unwritable: {
    retryable: true,
    failure: true,
    cause: "What the command has to say cannot be written to stdout: the disk is full, for example. What it did is done.",
    remedy: "Make room, or send the output elsewhere, and ask again; a command that reads can be repeated.",
  },
} as const satisfies Record<string, CodeEntry>;

export type CliCode = keyof typeof CLI_CODES;

/** An error of the command; the compiler checks that the code is registered. */
export function cliError(code: CliCode, message: string, options: { cause?: unknown; details?: ErrorDetails } = {}): HoldfastError {
  return new HoldfastError(code, message, { ...options, retryable: CLI_CODES[code].retryable });
}

/** What a person with a command does about a code, where the registry speaks to a program. */
const REMEDIES: Readonly<Record<string, string>> = {
  effect_gone: "`holdfast ls effects` lists the keys of the effects that are there.",
  root_owned: "Wait for it or stop it.",
};

/** What to do about a code, for people; undefined where it is not registered. */
export function remedyOf(code: string): string | undefined {
  return REMEDIES[code] ?? entryOf(code)?.remedy;
}

/** What the registry says of a code, or undefined where it is not registered. */
export function entryOf(code: string): CodeEntry | undefined {
  return (CLI_CODES as Record<string, CodeEntry>)[code] ?? CODES[code];
}
