/**
 * Process: a child of the demo. A real process with a runtime of its own, on the same state root as its siblings.
 *
 * It tells what it does and leaves when its parent does. Whether it may do something is decided by the root, never here.
 */

import type { Run } from "../../agent/run.ts";
import type { Holdfast } from "../../agent/runtime.ts";
import type { SurveyMoment } from "../../backend/survey.ts";
import { openHoldfast } from "../../index.ts";
import { coded, EXIT } from "../exit.ts";
import { commandBackends, SURVEY } from "../survey.ts";
import { type Assignment, assignmentSchema, type Message } from "./message.ts";

type Gate = (moment: SurveyMoment) => Promise<void>;
type As<Role> = Extract<Assignment, { role: Role }>;

/** Carries out one assignment; answers with the exit code. */
export async function demoProcess(text: string): Promise<number> {
  if (!process.send) {
    process.stderr.write("holdfast: this command is for the processes of `holdfast demo`.\n");
    return EXIT.refused;
  }
  const leave = () => process.exit(EXIT.failed);
  process.on("disconnect", leave);
  // Ctrl-C reaches the whole group; the parent says when a child ends.
  for (const name of ["SIGINT", "SIGHUP"] as const) process.on(name, () => {});
  let exit: number = EXIT.done;
  try {
    const assignment = assignmentSchema.parse(JSON.parse(text));
    if (assignment.role === "begin") await begin(assignment);
    else if (assignment.role === "continue") await continueRun(assignment);
    else await contend(assignment);
  } catch (error) {
    const { code, message } = coded(error);
    await tell({ type: "failed", code, message });
    exit = EXIT.failed;
  }
  process.off("disconnect", leave);
  process.disconnect();
  return exit;
}

/** Resolves when the message has left this process. */
function tell(message: Message): Promise<void> {
  return new Promise((resolve) => {
    // A parent that is gone is noticed by `disconnect`.
    process.send?.(message, undefined, {}, () => resolve());
  });
}

/** Resolves with the next word of the parent. */
function told(): Promise<void> {
  return new Promise((resolve) => void process.once("message", () => resolve()));
}

/** Until the parent kills this process. */
function forever(): Promise<never> {
  return new Promise(() => {});
}

function open({ root, report, revision }: Assignment, gate: Gate = async () => {}): Promise<Holdfast> {
  return openHoldfast({ root, backends: commandBackends({ report, revision, gate }) });
}

function tellStep(moment: SurveyMoment): void {
  if (moment.at === "step") void tell({ type: "step", step: moment.step, of: moment.of });
}

/** Begins the turn. It never ends: it is killed after its seal, or in the middle of a step. */
async function begin(assignment: As<"begin">): Promise<void> {
  const started = Promise.withResolvers<Run>();
  const turning = Promise.withResolvers<void>();
  // Whoever waits learns of it below; until then it must not end the process.
  turning.promise.catch(() => {});
  let turned = false;
  let filesSeen = false;
  const gate: Gate = async (moment) => {
    tellStep(moment);
    filesSeen ||= moment.at === "file";
    if (assignment.until === "kill") {
      if (!isMidStep(moment, filesSeen)) return;
      if (!turned) void tell({ type: "cut" });
      turned = true;
      return forever();
    }
    if (turned || !isHalfWay(moment)) return;
    turned = true;
    handOff(await started.promise).then(turning.resolve, turning.reject);
    return undefined;
  };
  const holdfast = await open(assignment, gate);
  await tell({ type: "opened" });
  const session = await holdfast.createSession({ backend: SURVEY, cwd: assignment.cwd });
  const run = await session.send("Survey this folder and write a report.");
  started.resolve(run);
  await tell({ type: "begun", run: run.id, session: session.id, turn: run.turnId });
  void forwardProgress(run);
  if (assignment.until === "kill") return forever();
  await Promise.race([turning.promise, run.end().then((end) => (end.kind === "sealed" ? turning.promise : ended(end)))]);
  // It still owns the root: only its death, or its leave, gives it up.
  return forever();
}

/** The five duties of whoever hands a turn off. */
async function handOff(run: Run): Promise<void> {
  const handoff = await run.requestHandoff();
  if (!(await handoff.ready)) throw new Error("the run was not held at a boundary");
  const preview = await handoff.preview();
  await tell({ type: "held", successor: preview.successorRunId });
  if (!(await handoff.commit()) || !(await handoff.sealed)) throw new Error("the handoff was not sealed");
  await tell({ type: "sealed" });
}

function isHalfWay(moment: SurveyMoment): boolean {
  return moment.at === "step" && moment.of !== null && moment.step >= Math.max(2, Math.floor(moment.of / 2));
}

/** Half of the files are read, or, where there was none to read, the last step has begun. */
function isMidStep(moment: SurveyMoment, filesSeen: boolean): boolean {
  if (moment.at === "file") return moment.done >= Math.max(1, Math.floor(moment.total / 2));
  return moment.kind === "report" && !filesSeen;
}

async function forwardProgress(run: Run): Promise<void> {
  for await (const event of run.events({ after: Number.MAX_SAFE_INTEGER })) {
    if (event.type === "partial") void tell({ type: "progress", output: event.output });
  }
}

/** Continues a run to its end. */
async function continueRun(assignment: As<"continue">): Promise<void> {
  const gate: Gate = async (moment) => {
    tellStep(moment);
    if (!assignment.holdLast || moment.at !== "step" || moment.kind !== "report") return;
    const go = told();
    await tell({ type: "waiting" });
    await go;
  };
  const holdfast = await open(assignment, gate);
  await tell({ type: "opened" });
  const { run, purpose } = assignment;
  const check = await holdfast.checkContinuation(run, purpose === "handoff" ? { purpose } : {});
  if (check.decision === "park") {
    await tell({ type: "parked", codes: check.reasons.map(({ code }) => code) });
    return holdfast.close();
  }
  for await (const event of holdfast.resume(check.continuation)) {
    if (event.type === "run.opened") await tell({ type: "begun", run: event.runId, session: event.sessionId, turn: event.turnId });
    if (event.type === "partial") void tell({ type: "progress", output: event.output });
  }
  const end = await holdfast.run(check.continuation.runId).end();
  await holdfast.close();
  if (end.kind !== "completed") ended(end);
  await tell({ type: "ended" });
}

/** Tries to continue a run that is another's to continue: while its successor works, and after that. */
async function contend(assignment: As<"contend">): Promise<void> {
  const go = told();
  await attempt(assignment);
  await go;
  await attempt(assignment);
}

async function attempt(assignment: As<"contend">): Promise<void> {
  let holdfast: Holdfast;
  try {
    holdfast = await open(assignment);
  } catch (error) {
    return tell({ type: "refused", code: coded(error).code });
  }
  const check = await holdfast.checkContinuation(assignment.run, { purpose: "handoff" });
  await holdfast.close();
  await tell(check.decision === "park" ? { type: "parked", codes: check.reasons.map(({ code }) => code) } : { type: "opened" });
}

function ended(end: Awaited<ReturnType<Run["end"]>>): never {
  const reason = end.kind === "failed" ? `${end.error.code}: ${end.error.message}` : end.kind;
  throw new Error(`the run ended before it should: ${reason}`);
}
