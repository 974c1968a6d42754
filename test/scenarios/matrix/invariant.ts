/** What holds in every row, whatever it expects besides. */

import assert from "node:assert/strict";
import { canonical } from "../../../src/actor/json.ts";
import type { RunEvent } from "../../../src/index.ts";
import { HANDOFF, PLAN, TEXT, TURN } from "../turn.ts";
import { type Fact, stored } from "../world.ts";
import type { Stage } from "./stage.ts";

/** What a consumer must not have seen of a run that was sealed. */
const endings = (events: readonly RunEvent[]): RunEvent[] => stored(events).filter((event) => event.type === "run.ended");

const ORIGINAL = `run/${TURN.runId}`;
const SUCCESSOR = `run/${HANDOFF.successorRunId}`;

/** `actual` reduced to what `expected` names, to any depth; lists are compared whole. */
export function reduced(actual: unknown, expected: unknown): unknown {
  if (typeof expected !== "object" || expected === null || typeof actual !== "object" || actual === null) return actual;
  if (Array.isArray(expected) !== Array.isArray(actual)) return actual;
  if (Array.isArray(expected) && Array.isArray(actual))
    return actual.map((one, index) => (index < expected.length ? reduced(one, expected[index]) : one));
  const given = actual as Record<string, unknown>;
  return Object.fromEntries(Object.entries(expected).flatMap(([key, part]) => (key in given ? [[key, reduced(given[key], part)]] : [])));
}

export function demand(actual: unknown, expected: unknown, what: string): void {
  assert.deepEqual(reduced(actual, expected), expected, what);
}

/** The row's own turn: a row may have begun others beside it. */
const runsOf = (play: Stage) => play.world.actors("run").filter(({ address }) => play.world.context(address).turnId === TURN.turnId);

/** Checks everything, and that recovery, twice, changes nothing more. */
export async function holds(play: Stage): Promise<void> {
  const { world } = play;
  holdsForTheTurn(play);
  if (play.sealOf(TURN.runId)) holdsForTheSeal(play);
  if (world.state(`handoff/${HANDOFF.id}`) === "resumed") holdsForTheSuccessor(play);
  assert.deepEqual(
    [...new Set(world.holdfast.verify().faults.map((fault) => fault.code))],
    [...new Set(play.damage)],
    "faults of the root",
  );
  await holdsForThePlan(play);
  const before = world.dump();
  await world.holdfast.recover();
  if (world.state(ORIGINAL) !== "paused") assert.equal(world.dump(), before, "recovery changed something");
}

/** A turn that goes on, also over its seal, keeps the plan's execution active; recovery interrupts it after the turn has ended. */
async function holdsForThePlan(play: Stage): Promise<void> {
  const { world } = play;
  const over = runsOf(play).length > 0 && runsOf(play).every(({ status }) => status === "final") && !isPending(play);
  await world.holdfast.recover();
  if (world.state(`work-plan/${PLAN.planId}`) === undefined) return;
  assert.equal(play.found.plan, over ? "interrupted" : "active", "the plan's execution after recovery");
}

/** One user message, one dispatch a run at most, one outcome a run at most, one origin; one outcome of the turn. */
function holdsForTheTurn(play: Stage): void {
  const { world } = play;
  const runs = runsOf(play);
  const texts = runs.flatMap(({ address }) => world.rows(address).filter((entry) => entry.event.includes(TEXT)));
  assert.ok(texts.length <= 1, "the user's text is in the journal once");
  for (const { address, status } of runs) {
    const facts = world.facts(address);
    const count = (...types: string[]) => facts.filter(({ type }) => types.includes(type)).length;
    assert.ok(count("run.dispatched") <= 1, `${address} was dispatched once at most`);
    assert.equal(count("run.ended", "run.sealed"), status === "final" ? 1 : 0, `${address} has one outcome, or one seal, or goes on`);
    const { turnId, runId: rootRunId, origin } = TURN;
    demand(facts[0], { type: "run.opened", turnId, rootRunId, origin }, `${address} keeps the turn, its root and its origin`);
  }
  const ends = world.facts("session/session-1").filter(({ type, turnId }) => type === "turn.ended" && turnId === TURN.turnId);
  assert.equal(ends.length, runs.every(({ status }) => status === "final") && !isPending(play) ? 1 : 0, "a turn has one outcome");
}

const isPending = ({ world, members }: Stage): boolean => {
  const [sealed] = world.facts(`run/${members.at(-1)}`).filter(({ type }) => type === "run.sealed");
  return sealed !== undefined;
};

/** The seal is the preview, byte for byte; nobody saw an end before the successor's. */
function holdsForTheSeal(play: Stage): void {
  const { world, seen, resumed, answers } = play;
  const seal = world.rows(ORIGINAL).at(-1);
  const { preview } = answers;
  if (typeof preview === "object" && preview !== null)
    assert.equal(seal?.facts, JSON.stringify([{ type: "run.sealed", ...preview }]), "the seal is the preview");
  const [handoffId, successorRunId, claimId] =
    world.state("handoff/handoff-1") === "cancelled" ? ["handoff-2", "successor-2", "claim-2"] : ["handoff-1", "successor-run", "claim-1"];
  const ids = { protocol: "holdfast.seal.v1", handoffId, rootRunId: TURN.runId, successorRunId, claimId };
  demand(play.sealOf(TURN.runId), ids, "the seal has the request's identities");
  assert.deepEqual(endings(seen), [], "the consumer of the sealed run saw no end");
  assert.ok(endings(resumed).length <= 1, "the consumer of the resume saw one end at most");
}

/** What the records say: the program's, and that of the turn's own interactions. */
function isDenied({ world, given }: Stage): boolean {
  const own = world.actors("interaction").some(({ address }) => world.context(address).answer?.allow === false);
  return own || given.denials === "denied";
}

/** The successor goes on with the original text and what was left, and adds no message of the user. */
function holdsForTheSuccessor(play: Stage): void {
  const { world, backend, given } = play;
  const denied = isDenied(play);
  for (const segments of play.asked)
    assert.deepEqual(segments, play.members.slice(0, segments.length), "all segments are looked up, in order");

  const seal = world.facts(ORIGINAL).find((fact) => fact.type === "run.sealed");
  const report = given.steps?.["original-run#1"]?.report;
  const left = typeof report === "object" && report.remainingSteps === null ? null : 2;
  assert.equal(seal?.remainingSteps, left, "the seal has what was left");
  const first = backend.steps.find((step) => step.runId === HANDOFF.successorRunId);
  // A stop may come between the dispatch and the backend; without one it was asked.
  if (!first) {
    assert.deepEqual(world.facts(SUCCESSOR).at(-1), { type: "run.ended", kind: "cancelled", by: "user" }, "the backend was asked");
    return;
  }
  const { turnId, runId: rootRunId } = TURN;
  const expected = {
    turnId,
    rootRunId,
    step: 1,
    maxSteps: left,
    text: "",
    headAnchor: { runId: rootRunId, turnId, text: TEXT },
    continuation: { purpose: "handoff", sourceRunId: rootRunId, denied },
  };
  demand(first, expected, "the successor's first step");
  const facts = world.facts(SUCCESSOR);
  const isUserMessage = (fact: Fact) => fact.type === "message.added" && fact.role === "user" && fact.from === "input";
  assert.equal(facts.filter(isUserMessage).length, 0, "the successor adds no message of the user");
  const source = { kind: "handoff", handoffId: HANDOFF.id, claimId: HANDOFF.claimId, denied, runId: rootRunId };
  demand(facts[0]?.source, source, "the successor's source");
  const row = world.reader.actor(ORIGINAL);
  const head = { runId: rootRunId, seq: row?.seq, hash: row?.hash };
  assert.equal(canonical(facts[0]?.source.head), canonical(head), "the successor's source is the sealed run's head");
}
