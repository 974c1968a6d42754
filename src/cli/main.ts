/**
 * Main: arguments in, one result out, an exit code.
 *
 * Guarantees: with `--json` there is exactly one JSON document on stdout, also for wrong usage, errors, `--help` and `--version`.
 * Next: program.ts, which says what the arguments mean; then command/.
 */

import { CommanderError } from "commander";
import { agentError } from "../agent/error.ts";
import { remedyOf } from "./error.ts";
import { coded, EXIT, type Exit, errorDocument, exitOf } from "./exit.ts";
import { oneLine } from "./format.ts";
import { buildProgram } from "./program.ts";
import type { Task } from "./result.ts";
import { Screen } from "./screen.ts";
import { DEMO_PROCESS, packageVersion } from "./self.ts";

/** Carries out one command line and answers with the exit code. Never rejects. */
export async function main(args: readonly string[]): Promise<number> {
  if (args[0] === DEMO_PROCESS) return (await import("./demo/process.ts")).demoProcess(args[1] ?? "");
  const parsed = await parse(args);
  const screen = new Screen(parsed.json);
  if (typeof parsed.outcome === "number") return parsed.outcome;
  try {
    const result = await parsed.outcome(screen);
    if (screen.json) screen.document(result.document);
    else for (const line of result.lines) screen.line(line);
    return result.exit;
  } catch (error) {
    return report(error, screen);
  }
}

interface Parsed {
  readonly json: boolean;
  /** What to do, or the exit code where parsing has answered already. */
  readonly outcome: Task | Exit;
}

async function parse(args: readonly string[]): Promise<Parsed> {
  const ending = args.indexOf("--");
  // Until the arguments are understood, this is the best that can be known.
  const json = (ending < 0 ? args : args.slice(0, ending)).includes("--json");
  let asked: Parsed | undefined;
  let help = "";
  const program = buildProgram({
    perform: (task, wantsJson) => {
      asked = { json: wantsJson, outcome: task };
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
    return asked ?? { json, outcome: EXIT.refused };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const screen = new Screen(json);
    if (error.code === "commander.version") {
      if (json) screen.document({ version: packageVersion() });
      return { json, outcome: EXIT.done };
    }
    if (error.code === "commander.helpDisplayed") {
      if (json) screen.document({ help });
      return { json, outcome: EXIT.done };
    }
    if (json) screen.document(errorDocument(agentError("argument_invalid", usageMessage(error))));
    return { json, outcome: EXIT.refused };
  }
}

function usageMessage(error: CommanderError): string {
  return error.code === "commander.help" ? "a command is missing; see `holdfast --help`" : error.message.replace(/^error: /, "");
}

function report(thrown: unknown, screen: Screen): Exit {
  const error = coded(thrown);
  if (screen.json) screen.document(errorDocument(error));
  else {
    screen.note(`${screen.noteStyle("red", `holdfast: ${error.code}`)}: ${oneLine(error.message, 2000)}`);
    const { pid, reasons } = error.details;
    if (Array.isArray(reasons)) for (const reason of reasons) screen.note(`  ${reason.code}: ${oneLine(reason.message, 2000)}`);
    if (typeof pid === "number") screen.note(`  Its owner is, or was last, process ${pid}.`);
    const remedy = remedyOf(error.code);
    if (remedy) screen.note(`  ${remedy}`);
  }
  if (thrown !== error && thrown instanceof Error && thrown.stack) screen.note(thrown.stack);
  return exitOf(error);
}
