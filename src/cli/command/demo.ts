/** `holdfast demo [DIR]`: the whole promise on real input, in one command: the story, then the proof of it from what was recorded. */

import { readFileSync, rmSync } from "node:fs";
import { HoldfastError } from "../../actor/error.ts";
import { checkReceipt, receiptOf, receiptText } from "../../agent/receipt.ts";
import { verifyRoot } from "../../agent/verify.ts";
import { Family } from "../demo/child.ts";
import { type DemoFolder, demoFolder } from "../demo/folder.ts";
import { crashStory, handoffStory, type Told } from "../demo/story.ts";
import { demandExactlyOnce, type RunTally, tallyOf } from "../demo/tally.ts";
import { Timeline } from "../demo/timeline.ts";
import { cliError } from "../error.ts";
import { EXIT } from "../exit.ts";
import { countOf, oneLine, plural, quoted, shortId, wrap } from "../format.ts";
import type { Interruption } from "../interruption.ts";
import { existingDirectory, writableFile, writeWhole } from "../place.ts";
import { withReader } from "../reading.ts";
import type { Result } from "../result.ts";
import type { Screen } from "../screen.ts";
import { commandName } from "../self.ts";
import { totalsOf } from "../survey.ts";
import { fields, table } from "../table.ts";

export interface DemoOptions {
  readonly root?: string;
  readonly out?: string;
  readonly crash?: boolean;
}

/** Plays the story on a fresh state root and checks everything that it claims. Throws `demo_failed` where something does not hold. */
export async function demoCommand(directory: string, options: DemoOptions, screen: Screen, interruption: Interruption): Promise<Result> {
  const cwd = existingDirectory(directory, "DIR");
  const out = options.out === undefined ? undefined : writableFile(options.out, "--out");
  interruption.throwIfHappened();
  const folder = demoFolder(cwd, { ...options, ...(out === undefined ? {} : { out }) });
  introduce(cwd, folder, options.crash === true, screen);
  try {
    const timeline = new Timeline(screen);
    await using family = new Family(interruption.signal, (letter, message) => timeline.pass(letter, message));
    const stage = { family, timeline, folder, cwd };
    const told = await (options.crash ? crashStory(stage) : handoffStory(stage));
    timeline.checking("checking every row of the root");
    return conclude(told, prove(told, folder, options.crash === true), folder, screen);
  } catch (error) {
    screen.bar.clear();
    // After Ctrl-C nobody wants it; after a failure it is the evidence.
    if (interruption.happened && folder.made !== null) rmSync(folder.made, { recursive: true, force: true });
    if (error instanceof HoldfastError && !interruption.happened) screen.note(`The state root is left as it is: ${folder.root}`);
    throw interruption.happened
      ? cliError("command_interrupted", "the demo was interrupted; its processes were ended", { cause: error })
      : error;
  }
}

interface Proof {
  readonly runs: readonly RunTally[];
  readonly survey: { readonly files: number; readonly bytes: number; readonly lines: number };
  readonly actors: number;
  readonly entries: number;
  readonly receipt: string | null;
}

/** Reads everything again from the root, which nobody owns now. */
function prove(told: Told, folder: DemoFolder, crash: boolean): Proof {
  return withReader(folder.root, (reader) => {
    const verified = verifyRoot(reader);
    const [fault] = verified.faults;
    if (fault) throw cliError("demo_failed", `the state root does not hold: ${fault.code}: ${fault.message}`);
    const runs = told.runs.map(({ id }) => tallyOf(reader, id));
    demandExactlyOnce(runs);
    if (crash && runs[0]?.failure !== "interrupted")
      throw cliError("demo_failed", `the killed run is ${runs[0]?.failure ?? "not failed"}; expected interrupted`);
    const totals = totalsOf(reader, told.runs.at(-1)?.id ?? "");
    if (!totals) throw cliError("demo_failed", "the last run finished no survey");
    const { files, bytes, lines } = totals;
    if (!crash) {
      writeWhole(folder.receipt, receiptText(receiptOf(reader, told.runs[0]?.id ?? "")));
      checkReceipt(readFileSync(folder.receipt, "utf8"));
    }
    return {
      runs,
      survey: { files, bytes, lines },
      actors: verified.actors,
      entries: verified.entries,
      receipt: crash ? null : folder.receipt,
    };
  });
}

function introduce(cwd: string, folder: DemoFolder, crash: boolean, screen: Screen): void {
  const text = crash
    ? "One job, two processes: the first is killed in the middle of a step, the second goes on from everything durable, and nothing is done twice."
    : "One job, three processes: the first hands the job over in the middle and is killed, the second finishes it, the third is kept out.";
  screen.line(screen.style("bold", `Holdfast demo: a survey of ${oneLine(cwd)}`));
  for (const line of wrap(text, screen.proseColumns)) screen.line(line);
  screen.line(`State root: ${folder.root}`);
  screen.line();
}

function conclude(told: Told, proof: Proof, folder: DemoFolder, screen: Screen): Result {
  const { root, report } = folder;
  const { survey, receipt } = proof;
  const document = {
    root,
    report,
    session: told.session,
    turn: told.turn,
    runs: proof.runs.map(({ id, state, revision, dispatches }, index) => ({
      id,
      state,
      pid: told.runs[index]?.pid ?? 0,
      revision,
      dispatches,
    })),
    killed: told.killed,
    refused: told.refused,
    receipt,
    verified: true,
    survey,
  };
  const runs = table(
    ["RUN", "PROCESS", "REVISION", "STATE", "STEPS", "DISPATCHED", "TOOL CALLS"],
    proof.runs.map((run, index) => [
      shortId(run.id),
      `${index === 0 ? "A" : "B"} ${told.runs[index]?.pid}`,
      run.revision ?? "",
      run.state,
      countOf(run.steps),
      run.dispatches === 1 ? "once" : plural(run.dispatches, "time"),
      countOf(run.settled.size),
    ]),
    screen.columns,
  );
  const lost = proof.runs[0]?.unknown.size ?? 0;
  const checked = `${plural(proof.actors, "actor")} and ${plural(proof.entries, "journal entry")}: no fault. No settled call was repeated${lost > 0 ? `; ${plural(lost, "call")} cut off by the kill ${lost === 1 ? "was" : "were"} done again` : ""}.`;
  const [title = "", ...rows] = runs;
  const [checkedFirst = "", ...checkedRest] = wrap(checked, screen.proseColumns - 10);
  return {
    exit: EXIT.done,
    document,
    lines: [
      "",
      screen.style("dim", title),
      ...rows,
      "",
      `${screen.style("green", "Checked")}   ${checkedFirst}`,
      ...checkedRest.map((line) => `          ${line}`),
      ...fields([
        ["Surveyed", `${plural(survey.files, "file")}, ${plural(survey.bytes, "byte")}, ${plural(survey.lines, "line")}`],
        ["Report", screen.style("bold", report)],
        ["Receipt", receipt && `${receipt} (verified)`],
      ]),
      "",
      "Look closer:",
      `  ${commandName()} ls --root ${quoted(root)}`,
      `  ${commandName()} show ${told.runs[0]?.id} --root ${quoted(root)}`,
    ],
  };
}
