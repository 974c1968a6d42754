/** Commands that work: demo, run, resume, stop, copy. Those that take their time look after Ctrl-C themselves. */

import { Argument } from "commander";
import { type Add, OWNER_TEXT, PART, type Perform, withCommon } from "./option.ts";

const RUN = `a run's id, ${PART}`;

export function addWork(add: Add, perform: Perform): void {
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
    perform(
      async (screen, interruption) => (await import("../command/demo.ts")).demoCommand(directory, options, screen, interruption),
      options.json === true,
      true,
    ),
  );
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
    perform(
      async (screen, interruption) => (await import("../command/run.ts")).runCommand(prompt, options, screen, interruption),
      options.json === true,
      true,
    ),
  );
  const resume = add("resume", "continue a run from where it is safe, or say why it is parked", [
    "resume 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e",
    "resume 5be21f6e",
  ])
    .usage("RUN [options]")
    .argument("<RUN>", RUN)
    .option("--out <FILE>", "the report's file (default: where the run was going to write it)");
  withCommon(resume).action((id: string, options) =>
    perform(
      async (screen, interruption) => (await import("../command/resume.ts")).resumeCommand(id, options, screen, interruption),
      options.json === true,
      true,
    ),
  );
  addSmallWork(add, perform);
}

/** Those that are done at once. */
function addSmallWork(add: Add, perform: Perform): void {
  const stop = add("stop", "stop the turn of a run that waits or is sealed", ["stop 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e"])
    .usage("RUN [options]")
    .argument("<RUN>", RUN);
  withCommon(stop.addHelpText("after", OWNER_TEXT)).action((id: string, options) =>
    perform(async (screen) => (await import("../command/stop.ts")).stopCommand(id, options, screen), options.json === true),
  );
  const copy = add("copy", "fork a conversation at a turn into a session of its own; it stays as it is, and both can go on", [
    "copy 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e",
    'copy 5be21f6e --through 0199c3f2-6b20-7d02-8f11-6a7c90b1e442 --name "Another way"',
  ])
    .usage("SESSION [options]")
    .argument("<SESSION>", `a session's id, ${PART}; see \`holdfast ls sessions\``)
    .option("--through <TURN>", "the last turn that is copied, by its whole id (default: the session's last); `holdfast show RUN` names it")
    .option("--name <NAME>", "the copy's name (default: the session's)");
  withCommon(copy.addHelpText("after", OWNER_TEXT)).action((id: string, options) =>
    perform(async (screen) => (await import("../command/copy.ts")).copyCommand(id, options, screen), options.json === true),
  );
}
