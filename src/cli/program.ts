/**
 * Program: the commands, their arguments, options and examples. It decides nothing and does nothing: each command becomes a task,
 * loaded only when it is carried out.
 * Next: usage/, where the commands are, by what they do.
 */

import { Command, Option, type OutputConfiguration } from "commander";
import { packageVersion } from "./self.ts";
import { addUpkeep, addWaysOut } from "./usage/care.ts";
import { type Add, jsonOption, type Perform, refuseForgottenValues } from "./usage/option.ts";
import { addProofs, addReads } from "./usage/read.ts";
import { addWork } from "./usage/work.ts";

export interface ProgramOptions {
  /** Receives what the arguments ask for. */
  readonly perform?: Perform;
  /** Where commander writes help and complaints; the process's own streams where absent. */
  readonly output?: OutputConfiguration;
}

/** The whole command line of `holdfast`. Parsing throws `CommanderError` instead of ending the process. */
export function buildProgram(options: ProgramOptions = {}): Command {
  const perform = options.perform ?? (() => {});
  const program = new Command("holdfast")
    .description("Durable agent runs that can be held at a safe boundary, sealed, and continued exactly once.")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .commandsGroup("Look:")
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
  const add: Add = (name, description, examples) =>
    program.command(name).description(description).addHelpText("after", examplesText(examples));
  program.commandsGroup("Work:");
  addWork(add, perform);
  program.commandsGroup("Look:");
  addReads(add, perform);
  program.commandsGroup("Check:");
  addProofs(add, perform);
  addMachines(program, perform);
  program.commandsGroup("Ways out:");
  addWaysOut(add, perform);
  program.commandsGroup("Upkeep:");
  addUpkeep(add, perform);
  refuseForgottenValues(program);
  return program;
}

function examplesText(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  $ holdfast ${example}`).join("\n")}`;
}

const MAIN_TEXT = `
Start here:
  $ holdfast demo   a real job, handed from one process to another in the middle

Exit codes: 0 done; 1 it failed, or a check found a fault;
            2 wrong usage, or refused; 130 interrupted.`;

function addMachines(program: Command, perform: Perform): void {
  const machine = program
    .command("machine")
    .description("work with the machines of a file")
    .usage("COMMAND [options]")
    .helpCommand("help [COMMAND]", "print the help of a command");
  const check = machine
    .command("check")
    .description("tell what keeps the machines of a module from being durable, and how to write it instead")
    .usage("FILE [options]")
    .argument("<FILE>", "a module, in JavaScript or TypeScript, that exports machines; it is imported")
    // Taken as by every command; there is no state root to read here.
    .addOption(new Option("--root <DIR>").default(".holdfast").hideHelp())
    .addOption(jsonOption())
    .addHelpText("after", examplesText(["machine check machines/order.ts", "machine check order.ts --json"]));
  check.action((file: string, options) =>
    perform(async (screen) => (await import("./command/machine.ts")).machineCheckCommand(file, options, screen), options.json === true),
  );
}
