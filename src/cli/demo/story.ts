/**
 * Story: who does what, in which order, in the two demos. Each step waits for the word of a real process.
 *
 * Handoff: A works, hands off and is killed; B continues under the seal; C tries to continue it too, while B works and afterwards.
 * Crash: A is killed in the middle of a step; B recovers the root and continues from everything durable.
 */

import { cliError } from "../error.ts";
import { countOf, plural, shortId } from "../format.ts";
import type { Child, Family } from "./child.ts";
import type { DemoFolder } from "./folder.ts";
import type { Timeline } from "./timeline.ts";

/** What happened, as far as processes and ids go; what was recorded is read from the root. */
export interface Told {
  readonly session: string;
  readonly turn: string;
  readonly runs: readonly { readonly id: string; readonly pid: number }[];
  readonly killed: number;
  readonly refused: readonly { readonly pid: number; readonly code: string }[];
}

export interface Stage {
  readonly family: Family;
  readonly timeline: Timeline;
  readonly folder: DemoFolder;
  readonly cwd: string;
}

/** The place of the job, for a child with this composition revision. */
function place({ folder, cwd }: Stage, revision: string) {
  return { root: folder.root, report: folder.report, cwd, revision };
}

/** A turn moves from A to B at a boundary, and to nobody else. */
export async function handoffStory(stage: Stage): Promise<Told> {
  const { family, timeline } = stage;
  const a = family.start("A", { ...place(stage, "1"), role: "begin", until: "handoff" });
  const begun = await beginTold(stage, a);
  const { successor } = await a.says("held");
  timeline.tell(
    "A",
    `is asked to hand the turn off; it is held at the boundary after step ${timeline.step} of ${timeline.steps}: ${filesRead(timeline)}, all of it durable, and nothing in flight.`,
  );
  await a.says("sealed");
  timeline.tell("A", `commits and seals its run: only run ${shortId(successor)} may continue the turn.`);
  await kill(stage, a, "is killed (SIGKILL). It had not given the state root up.");

  const b = family.start("B", { ...place(stage, "2"), role: "continue", run: begun.run, purpose: "handoff", holdLast: true });
  await b.says("opened");
  const continued = await b.says("begun");
  timeline.tell(
    "B",
    `(process ${b.pid}, composition revision 2) takes the root over, checks the seal, and continues the turn as run ${shortId(continued.run)}.`,
  );
  await b.says("waiting");
  timeline.tell("B", `waits before its last step, ${timeline.step} of ${timeline.steps}, so that another can try to take the turn.`);

  const c = family.start("C", { ...place(stage, "2"), role: "contend", run: begun.run });
  const { code: first } = await c.says("refused");
  timeline.tell("C", `(process ${c.pid}) tries to continue the same seal, and is refused: ${first}. One process at a time owns a root.`);
  b.go();
  await b.says("ended");
  await b.gone();
  timeline.tell("B", "does the last step, writes the report, and leaves.");
  c.go();
  const { codes } = await c.says("parked");
  const second = codes.join(", ");
  timeline.tell("C", `tries again, now that the root is free, and is refused: ${second}. A seal has one successor.`);
  await c.gone();
  for (const [code, expected] of [
    [first, "root_owned"],
    [second, "continuation_already_exists"],
  ] as const)
    if (code !== expected) throw cliError("demo_failed", `process C was refused with ${code}; expected ${expected}`);
  return {
    session: begun.session,
    turn: begun.turn,
    runs: [
      { id: begun.run, pid: a.pid },
      { id: continued.run, pid: b.pid },
    ],
    killed: a.pid,
    refused: [
      { pid: c.pid, code: first },
      { pid: c.pid, code: second },
    ],
  };
}

/** A turn is cut in the middle of a step, and goes on in a new turn. */
export async function crashStory(stage: Stage): Promise<Told> {
  const { family, timeline } = stage;
  const a = family.start("A", { ...place(stage, "1"), role: "begin", until: "kill" });
  const begun = await beginTold(stage, a);
  await a.says("cut");
  await kill(stage, a, `is killed (SIGKILL) in the middle of step ${timeline.step} of ${timeline.steps}, with no time to prepare.`);

  const b = family.start("B", { ...place(stage, "2"), role: "continue", run: begun.run, purpose: "plain", holdLast: false });
  await b.says("opened");
  timeline.tell(
    "B",
    `(process ${b.pid}, composition revision 2) takes the root over and records what became of A's run: it failed, interrupted.`,
  );
  const continued = await b.says("begun");
  timeline.tell("B", `continues from everything durable, in a new turn, as run ${shortId(continued.run)}.`);
  await b.says("ended");
  await b.gone();
  timeline.tell("B", "reads what is left, writes the report, and leaves.");
  return {
    session: begun.session,
    turn: begun.turn,
    runs: [
      { id: begun.run, pid: a.pid },
      { id: continued.run, pid: b.pid },
    ],
    killed: a.pid,
    refused: [],
  };
}

async function beginTold({ timeline }: Stage, a: Child) {
  await a.says("opened");
  const begun = await a.says("begun");
  timeline.tell("A", `(process ${a.pid}, composition revision 1) makes the state root and begins the turn as run ${shortId(begun.run)}.`);
  return begun;
}

async function kill({ timeline }: Stage, child: Child, text: string): Promise<void> {
  await child.kill();
  timeline.tell(child.letter, text);
}

function filesRead({ files }: Timeline): string {
  return files.total === 0 ? "no file was there to read" : `${countOf(files.done)} of ${plural(files.total, "file")} read`;
}
