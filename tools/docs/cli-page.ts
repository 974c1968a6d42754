/** CLI page: the command's own help, command by command. */

import type { Command } from "commander";
import { code, page } from "./markdown.ts";

/** Columns of the help text, so that the page does not depend on a terminal. */
const WIDTH = 100;

export function cliPage(program: Command): string {
  return page(
    "# Command line",
    "The text of `holdfast --help` and of the help of each command. In a checkout, write `npm run -s holdfast --` for `holdfast`.",
    ...sections(program, ""),
  );
}

function sections(command: Command, parent: string): string[] {
  const name = `${parent}${command.name()}`;
  const own = `## ${code(name)}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\``;
  return [own, ...command.commands.filter((child) => child.name() !== "help").flatMap((child) => sections(child, `${name} `))];
}

/** As `--help` prints it, texts before and after included. */
function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ getOutHelpWidth: () => WIDTH, getOutHasColors: () => false, writeOut: (part) => (text += part) });
  command.outputHelp();
  return text
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();
}
