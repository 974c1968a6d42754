/**
 * Main: arguments in, one result out, an exit code.
 *
 * Guarantees: with `--json` there is exactly one JSON document on stdout, also for wrong usage, errors, interruptions, `--help` and
 * `--version`.
 * Next: program.ts, which says what the arguments mean; then command/.
 */

import { CommanderError } from "commander";
import type { HoldfastError } from "../actor/error.ts";
import { agentError } from "../agent/error.ts";
import { cliError, remedyOf } from "./error.ts";
import { coded, EXIT, type Exit, errorDocument, exitOf } from "./exit.ts";
import { oneLine, wrap } from "./format.ts";
import { Interruption } from "./interruption.ts";
import { Output } from "./output.ts";
import { buildProgram } from "./program.ts";
import type { Task } from "./result.ts";
import { Screen } from "./screen.ts";
import { DEMO_PROCESS, packageVersion } from "./self.ts";

/**
 * Carries out one command line and answers with the exit code. Never rejects. `takeOver` gives back the signals that were kept until
 * now, and says whether one came.
 */
export async function main(args: readonly string[], takeOver: () => boolean = () => false): Promise<number> {
  if (args[0] === DEMO_PROCESS) {
    takeOver();
    return (await import("./demo/process.ts")).demoProcess(args[1] ?? "");
  }
  const output = new Output();
  const parsed = await parse(args);
  const screen = new Screen(parsed.json);
  const exit = await carryOut(parsed, screen, takeOver);
  // What cannot be written to stdout can only be told on stderr.
  return output.settle(exit, (error) => report(error, new Screen(false)));
}

async function carryOut({ asked, answered }: Parsed, screen: Screen, takeOver: () => boolean): Promise<Exit> {
  if (!asked) return answered;
  const leave = () => report(cliError("command_interrupted", "interrupted twice"), screen);
  using interruption = new Interruption(leave);
  const early = takeOver();
  // What only reads, or writes in one piece, is ended by the signal itself: it need not be asked.
  if (!asked.attends) interruption[Symbol.dispose]();
  if (early) interruption.happen();
  try {
    interruption.throwIfHappened();
    const result = await asked.task(screen, interruption);
    if (screen.json) screen.document(result.document);
    else for (const line of result.lines) screen.line(line);
    return result.exit;
  } catch (error) {
    return report(error, screen);
  }
}

interface Parsed {
  readonly json: boolean;
  /** What to do; absent where parsing has answered already. */
  readonly asked?: { readonly task: Task; readonly attends: boolean };
  readonly answered: Exit;
}

async function parse(args: readonly string[]): Promise<Parsed> {
  const ending = args.indexOf("--");
  // Until the arguments are understood, this is the best that can be known.
  const json = (ending < 0 ? args : args.slice(0, ending)).includes("--json");
  let asked: Parsed | undefined;
  let help = "";
  const program = buildProgram({
    perform: (task, wantsJson, attends = false) => {
      asked = { json: wantsJson, asked: { task, attends }, answered: EXIT.refused };
    },
    output: {
      writeOut: (text) => {
        if (json) help += text;
        else process.stdout.write(text);
      },
      writeErr: (text) => {
        if (!json) process.stderr.write(text);
      },
    },
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return asked ?? { json, answered: EXIT.refused };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const screen = new Screen(json);
    if (error.code === "commander.version") {
      if (json) screen.document({ version: packageVersion() });
      return { json, answered: EXIT.done };
    }
    if (error.code === "commander.helpDisplayed") {
      if (json) screen.document({ help });
      return { json, answered: EXIT.done };
    }
    if (json) screen.document(errorDocument(agentError("argument_invalid", usageMessage(error))));
    return { json, answered: EXIT.refused };
  }
}

function usageMessage(error: CommanderError): string {
  return error.code === "commander.help" ? "a command is missing; see `holdfast --help`" : error.message.replace(/^error: /, "");
}

function report(thrown: unknown, screen: Screen): Exit {
  const error = coded(thrown);
  if (screen.json) screen.document(errorDocument(error));
  else for (const line of told(error, screen)) screen.note(line);
  if (thrown !== error && thrown instanceof Error && thrown.stack) screen.note(thrown.stack);
  return exitOf(error);
}

/** An error for people: its code, what it says, what else is known, and what to do about it. */
function told({ code, message, details }: HoldfastError, screen: Screen): string[] {
  const { pid, program, reasons } = details;
  const remedy = remedyOf(code);
  const title = `holdfast: ${code}`;
  const [first = "", ...others] = wrap(`${title}: ${oneLine(message, 2000)}`, screen.noteColumns);
  const more = [
    ...(Array.isArray(reasons)
      ? reasons.filter((reason) => reason.message !== message).map((reason) => `${reason.code}: ${oneLine(reason.message, 2000)}`)
      : []),
    ...(typeof pid === "number"
      ? [`Its owner is, or was last, process ${pid}${typeof program === "string" ? ` (${oneLine(program, 80)})` : ""}.`]
      : []),
    ...(remedy ? [remedy] : []),
  ];
  return [
    first.replace(title, screen.noteStyle("red", title)),
    ...[...others, ...more.flatMap((text) => wrap(text, screen.noteColumns - 2))].map((line) => `  ${line}`),
  ];
}
