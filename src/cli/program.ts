/**
 * Program: the commands, their arguments, options and examples. It decides nothing and does nothing: each command becomes a task,
 * loaded only when it is carried out.
 */

import { Argument, Command, InvalidArgumentError, Option, type OutputConfiguration } from "commander";
import { type CommonOptions, LISTS, type Task } from "./result.ts";
import { packageVersion } from "./self.ts";

export interface ProgramOptions {
  /** Receives what the arguments ask for. */
  readonly perform?: (task: Task, json: boolean) => void;
  /** Where commander writes help and complaints; the process's own streams where absent. */
  readonly output?: OutputConfiguration;
}

/** Rows of one page, at most. */
const PAGE_LIMIT = 500;

/** The whole command line of `holdfast`. Parsing throws `CommanderError` instead of ending the process. */
export function buildProgram(options: ProgramOptions = {}): Command {
  const perform = options.perform ?? (() => {});
  const program = new Command("holdfast")
    .description("Durable agent runs that can be held at a safe boundary, sealed, and continued exactly once.")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [COMMAND]", "print the help of a command")
    .configureOutput(options.output ?? {})
    .configureHelp({
      styleTitle: (title) => title,
      subcommandTerm: (command) => `${command.name()} ${command.usage()}`.replace(" [options]", ""),
    })
    .showHelpAfterError("(add --help for usage)")
    .exitOverride()
    .enablePositionalOptions()
    .addOption(jsonOption())
    .usage("COMMAND [options]")
    .addHelpText("after", MAIN_TEXT);
  const add = (name: string, description: string, examples: readonly string[]) => {
    const command = program.command(name).description(description);
    return command.addHelpText("after", `\nExamples:\n${examples.map((example) => `  $ holdfast ${example}`).join("\n")}`);
  };
  addDemo(add, perform);
  addRuns(add, perform);
  addReads(add, perform);
  addProofs(add, perform);
  return program;
}

type Add = (name: string, description: string, examples: readonly string[]) => Command;
type Perform = NonNullable<ProgramOptions["perform"]>;

const MAIN_TEXT = `
Start here:
  $ holdfast demo   a real job, handed from one process to another in the middle

Exit codes: 0 done; 1 it failed, or a check found a fault;
            2 wrong usage, or refused; 130 interrupted.`;

function jsonOption(): Option {
  return new Option("--json", "print one JSON document on stdout and nothing else there");
}

/** The options that every command takes, last in its help. */
function withCommon(command: Command, root: string | null = ".holdfast"): Command {
  return command
    .option(
      "--root <DIR>",
      root === null ? "a new folder for the state root (default: in a temporary one)" : "the state root",
      root ?? undefined,
    )
    .addOption(jsonOption());
}

function withPage(command: Command, limit: number, what: string): Command {
  return command
    .option("--limit <N>", `${what} on one page, 1 to ${PAGE_LIMIT}`, wholeNumber(1, PAGE_LIMIT), limit)
    .option("--after <CURSOR>", `go on after this cursor; a page ends with the next one's`, wholeNumber(0, Number.MAX_SAFE_INTEGER), 0);
}

function wholeNumber(from: number, to: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,16}$/.test(text) || value < from || value > to)
      throw new InvalidArgumentError(`Expected a whole number from ${from} to ${to}.`);
    return value;
  };
}

function addDemo(add: Add, perform: Perform): void {
  const demo = add("demo", "survey a folder as a durable run that moves between processes while it works", [
    "demo",
    "demo ~/project --out report.md",
    "demo --crash --json",
  ])
    .usage("[DIR] [options]")
    .addArgument(new Argument("[DIR]", "the folder to survey").default(".", "the current folder"))
    .option("--out <FILE>", "write the report here instead of beside the state root")
    .option("--crash", "kill the first process in the middle of a step, without a handoff");
  withCommon(demo, null).action((directory: string, options) =>
    perform(async (screen) => (await import("./command/demo.ts")).demoCommand(directory, options, screen), options.json === true),
  );
}

function addRuns(add: Add, perform: Perform): void {
  const run = add("run", "do one durable turn; Ctrl-C stops it cleanly, a kill leaves it resumable", [
    'run "Survey this folder"',
    'run "Survey it" --dir ~/project --out report.md',
  ])
    .usage("PROMPT [options]")
    .argument("<PROMPT>", "what to do, in words")
    .option("--backend <NAME>", "who does it; `survey` surveys the folder, offline", "survey")
    .option("--dir <DIR>", "the folder to work in", ".")
    .option("--out <FILE>", "the report's file (default: reports/SESSION.md in the state root)");
  withCommon(run).action((prompt: string, options) =>
    perform(async (screen) => (await import("./command/run.ts")).runCommand(prompt, options, screen), options.json === true),
  );
  const resume = add("resume", "continue a run from where it is safe, or say why it is parked", [
    "resume 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e",
  ])
    .usage("RUN [options]")
    .argument("<RUN>", "a run's id")
    .option("--out <FILE>", "the report's file (default: where the run was going to write it)");
  withCommon(resume).action((id: string, options) =>
    perform(async (screen) => (await import("./command/resume.ts")).resumeCommand(id, options, screen), options.json === true),
  );
  const stop = add("stop", "stop the turn of a run that waits or is sealed", ["stop 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e"])
    .usage("RUN [options]")
    .argument("<RUN>", "a run's id");
  withCommon(stop).action((id: string, options) =>
    perform(async (screen) => (await import("./command/stop.ts")).stopCommand(id, options, screen), options.json === true),
  );
}

function addReads(add: Add, perform: Perform): void {
  const ls = add("ls", "list what is in a state root; also while a process owns it", ["ls", "ls sessions --limit 20 --after 40"])
    .usage("[WHAT] [options]")
    .addArgument(new Argument("[WHAT]", "what to list").choices(LISTS).default("runs"));
  withCommon(withPage(ls, 50, "rows")).action((what: (typeof LISTS)[number], options: CommonOptions & { limit: number; after: number }) =>
    perform(async (screen) => (await import("./command/ls.ts")).lsCommand(what, options, screen), options.json === true),
  );
  const show = add("show", "tell what one actor is, why it is so, and what its journal says", [
    "show 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e",
    "show session/0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e --after 50",
  ])
    .usage("ID [options]")
    .argument("<ID>", "run/…, session/…, handoff/…, or the id alone");
  withCommon(withPage(show, 50, "journal entries")).action((id: string, options) =>
    perform(async (screen) => (await import("./command/show.ts")).showCommand(id, options, screen), options.json === true),
  );
}

function addProofs(add: Add, perform: Perform): void {
  const verify = add("verify", "check every row of a state root against its journal, or a receipt offline", [
    "verify",
    "verify --receipt 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e.receipt.json",
  ])
    .usage("[options]")
    .option("--receipt <FILE>", "check this receipt instead; needs no state root");
  withCommon(verify).action((options) =>
    perform(async (screen) => (await import("./command/verify.ts")).verifyCommand(options, screen), options.json === true),
  );
  const receipt = add("receipt", "write the receipt of a handed-off turn: evidence of its one successor", [
    "receipt 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e --out receipt.json",
  ])
    .usage("RUN [options]")
    .argument("<RUN>", "the id of the sealed run or of its successor")
    .option("--out <FILE>", "the receipt's file (default: RUN.receipt.json in the current folder)");
  withCommon(receipt).action((id: string, options) =>
    perform(async (screen) => (await import("./command/receipt.ts")).receiptCommand(id, options, screen), options.json === true),
  );
}
