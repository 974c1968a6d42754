/** Acts: what a row may do to its turn. Each answers with what came of it. A new one is a new entry. */

import type { Continuation, ContinuationCheck } from "../../../src/index.ts";
import { HANDOFF, PLAN, SESSION, TEXT, TURN } from "../turn.ts";
import { collect } from "../world.ts";
import { breaking } from "./breaking.ts";
import type { Stage } from "./stage.ts";

/** An act by its name, or one with an argument: a gate of the backend that is opened or waited for, a commit that is stopped at. */
export type Act = keyof typeof acts | `open ${string}` | `reach ${string}` | `${typeof STOPPED_AT}${number}`;

const STOPPED_AT = "resume, stopped at commit ";

/** What an act does. */
export function actNamed(name: Act): (play: Stage) => unknown {
  if (name.startsWith(STOPPED_AT)) return (play) => stoppedAt(play, Number(name.slice(STOPPED_AT.length)));
  return acts[name as keyof typeof acts];
}

/** What most rows do first, and what they do last. */
export const HOLD = ["start", "request", "open original-run#1", "ready"] as const satisfies readonly Act[];
export const SEAL = [...HOLD, "preview", "commit", "sealed"] as const satisfies readonly Act[];
export const RESUME = ["check", "resume"] as const satisfies readonly Act[];

async function endOf(play: Stage, runId: string): Promise<unknown> {
  const end = await play.run(runId).end();
  if (end.kind === "sealed") return "sealed";
  return end.kind === "failed" ? { failed: end.error.code, drift: end.drift.map(({ field }) => field) } : end;
}

/** `continue`, or why not. A check writes nothing. */
async function check(play: Stage, runId: string, purpose?: "handoff"): Promise<{ check: ContinuationCheck; answer: unknown }> {
  const before = play.world.dump();
  const found = await play.world.holdfast.checkContinuation(runId, purpose ? { purpose } : {});
  if (play.world.dump() !== before) throw new Error("the check wrote something");
  return { check: found, answer: found.decision === "continue" ? "continue" : found.reasons.map((reason) => reason.code) };
}

/** Resumes to the end. One that is refused before the claim leaves no trace. */
async function resume(play: Stage, continuation: Continuation | undefined, began: () => void = () => {}): Promise<unknown> {
  const { world } = play;
  const before = world.dump();
  const known = world.state(`run/${HANDOFF.successorRunId}`);
  try {
    let last: string | undefined;
    for await (const event of world.holdfast.resume(continuation as Continuation)) {
      play.resumed.push(event);
      began();
      last = event.type === "run.ended" ? event.kind : event.type;
    }
    return last;
  } catch (error) {
    const isClaimed = known === undefined && world.state(`run/${HANDOFF.successorRunId}`) !== undefined;
    // While a successor is at work the store changes by itself.
    if (!isClaimed && play.resuming === undefined && world.dump() !== before) throw new Error("a refused resume left a trace");
    throw error;
  }
}

async function begin(play: Stage): Promise<void> {
  await new Promise<void>((begun, failed) => {
    play.resuming = resume(play, play.continuation, begun);
    play.resuming.then(() => begun(), failed);
  });
}

async function nextQuestion(play: Stage, runId: string): Promise<unknown> {
  for await (const event of play.run(runId).events()) if (event.type === "run.waiting") return event.id;
  return undefined;
}

/** Stops the turn right after the nth commit from now on; nothing happens where there are fewer. */
function stopAfter(play: Stage, nth: number): void {
  let left = nth;
  play.world.probe = (point) => {
    if (point !== "commit.after" || --left !== 0) return;
    play.world.probe = undefined;
    play
      .run(TURN.runId)
      .stop()
      .catch(() => {});
  };
}

/** Resumes the turn and stops it at the nth commit from then on, then waits for both. */
async function stoppedAt(play: Stage, nth: number): Promise<unknown> {
  stopAfter(play, nth);
  const code = await resume(play, play.continuation).catch((error) => error.code);
  play.world.probe = undefined;
  return code;
}

/** What the backend calls `question-1` in the turn's first run. */
const QUESTION = `${TURN.runId}.question-1`;

const acts = {
  async start(play: Stage) {
    const session = await play.world.holdfast.createSession({ ...SESSION, ...play.begunWith });
    const plan = await session.proposePlan(PLAN.proposal, { planId: PLAN.planId });
    await plan.approve(1);
    const { maxSteps } = play.given;
    const run = await session.send(TEXT, { ...TURN, ...(maxSteps === undefined ? {} : { maxSteps }) });
    collect(run.events(), play.seen).catch((error) => {
      play.streamFailure = error;
    });
  },
  async request(play: Stage) {
    play.handoff = await play.run(TURN.runId).requestHandoff({ ...HANDOFF, signal: play.abort.signal });
    return "accepted";
  },
  async "request another"(play: Stage) {
    play.handoff = await play.run(TURN.runId).requestHandoff({ id: "handoff-2", successorRunId: "successor-2", claimId: "claim-2" });
    return "accepted";
  },
  async "request on the successor"(play: Stage) {
    const next = { id: "handoff-2", successorRunId: "third-run", claimId: "claim-2" };
    play.handoff = await play.run(HANDOFF.successorRunId).requestHandoff(next);
    return "accepted";
  },
  "request on an unknown run": async (play: Stage) => play.run("nobody").requestHandoff(),
  ready: (play: Stage) => play.handoff?.ready,
  preview: async (play: Stage) => play.handoff?.preview(),
  commit: (play: Stage) => play.handoff?.commit(),
  cancel: (play: Stage) => play.handoff?.cancel(),
  sealed: (play: Stage) => play.handoff?.sealed,
  "abort the request": (play: Stage) => play.abort.abort(new Error("no longer wanted")),
  stop: (play: Stage) => play.run(TURN.runId).stop(),
  end: (play: Stage) => endOf(play, TURN.runId),
  "end of the successor": (play: Stage) => endOf(play, HANDOFF.successorRunId),
  "plain check": async (play: Stage) => (await check(play, TURN.runId)).answer,
  async check(play: Stage) {
    const { check: found, answer } = await check(play, TURN.runId, "handoff");
    if (found.decision === "continue") play.continuation = found.continuation;
    return answer;
  },
  /** To the end; the end of a resume that was begun, where one was. */
  resume: (play: Stage) => play.resuming ?? resume(play, play.continuation),
  /** Until the successor exists, not to its end: the row goes on while the successor works. */
  "begin to resume": begin,
  "resume by another handle": (play: Stage) => resume(play, play.continuation),
  "resume as if it were plain": (play: Stage) =>
    resume(play, play.continuation && { ...play.continuation, purpose: "plain", runId: "stranger", turnId: "other-turn" }),
  "resume what has changed": (play: Stage) =>
    resume(play, play.continuation && { ...play.continuation, source: { ...play.continuation.source, hash: "0".repeat(64) } }),
  async "resume the third"(play: Stage) {
    const { check: found, answer } = await check(play, HANDOFF.successorRunId, "handoff");
    return found.decision === "continue" ? resume(play, found.continuation) : answer;
  },
  "resume, stopped before it": (play: Stage) => {
    const stopped = play.run(TURN.runId).stop();
    return Promise.all([stopped, resume(play, play.continuation).catch((error) => error.code)]).then(([, code]) => code);
  },
  "resume, stopped in the same moment": (play: Stage) => {
    const resumed = resume(play, play.continuation).catch((error) => error.code);
    return Promise.all([play.run(TURN.runId).stop(), resumed]).then(([, code]) => code);
  },
  "copy the conversation": async (play: Stage) => (await play.world.holdfast.copySession(SESSION.id)).id,
  /** What recovery makes of it: `unchanged`, plan and all. */
  async "recover a sealed turn"(play: Stage) {
    const before = play.world.dump();
    await play.world.holdfast.recover();
    return play.world.dump() === before && play.found.plan === "active" ? "unchanged" : "changed";
  },
  recover: (play: Stage) => play.world.holdfast.recover(),
  async reopen(play: Stage) {
    await play.world.reopen();
  },
  async answer(play: Stage) {
    await play.run(HANDOFF.successorRunId).answer(QUESTION, "yes");
  },
  async "answer the original"(play: Stage) {
    await play.run(TURN.runId).answer(QUESTION, "yes");
  },
  async "deny the permission"(play: Stage) {
    const { hash } = play.world.holdfast.interaction(QUESTION).getSnapshot().context;
    await play.run(TURN.runId).decide(QUESTION, false, { hash });
  },
  async "allow the permission"(play: Stage) {
    const { hash } = play.world.holdfast.interaction(QUESTION).getSnapshot().context;
    await play.run(TURN.runId).decide(QUESTION, true, { hash });
  },
  "wait for the question": (play: Stage) => nextQuestion(play, TURN.runId),
  "wait for the successor's question": (play: Stage) => nextQuestion(play, HANDOFF.successorRunId),
  /** Whether others can still work here. */
  async "another session works"(play: Stage) {
    const session = await play.world.holdfast.createSession({ backend: SESSION.backend, id: "another" });
    const run = await session.send("Something else", { runId: "another-run", turnId: "another-turn" });
    return (await run.end()).kind;
  },
  ...breaking,
};
