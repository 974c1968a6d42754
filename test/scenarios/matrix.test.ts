/** The decision matrix: what becomes of a turn, by decision. Each row is played on the real runtime, SQLite store and a scripted backend. */

import { describe, expect, it } from "vitest";
import { type Composition, fakeComposition } from "../../src/index.ts";
import { endings, type Given, HOLD, Play, RESUME, SEAL, same, TEXT } from "./play.ts";

interface Row {
  /** Its number in the specification. */
  readonly row: string;
  readonly decision: string;
  readonly given: Given;
  /** States of the actors, counts over the whole turn, and what the acts answered. */
  readonly expected: Record<string, unknown>;
}

const other = `sha256:${"1".repeat(64)}`;
const successorDeclares = (changes: Partial<Composition> | null): Pick<Given, "compositions"> => ({
  compositions: { "successor-run": changes && fakeComposition(changes) },
});

/** What every row that seals expects, and what a resumed one does besides. */
const sealedRow = { ready: true, commit: true, sealed: true, source: "sealed", seals: 1, check: "continue" };
const resumedRow = {
  ...sealedRow,
  handoff: "resumed",
  session: "idle",
  dispatches: 2,
  tip: "successor-run completed",
  resume: "completed",
};
const refusedRow = { ...sealedRow, handoff: "failed", session: "idle", dispatches: 1, tip: "successor-run failed" };
const pendingRow = {
  ready: true,
  commit: true,
  sealed: true,
  source: "sealed",
  seals: 1,
  handoff: "sealed",
  session: "paused",
  dispatches: 1,
  tip: "original-run sealed",
};
const unsealedRow = { seals: 0, session: "idle", dispatches: 1 };

/** Takes an expectation back: the row does not do this act. */
const NOT_ASKED = undefined;

const question = { id: "question-1", question: "May I?" };
const asks = { report: { next: "wait", interaction: question, remainingSteps: 2 } } as const;

const ROWS: readonly Row[] = [
  { row: "1", decision: "commit", given: { acts: [...SEAL, ...RESUME] }, expected: resumedRow },
  {
    row: "2",
    decision: "cancel",
    given: { acts: [...HOLD, "cancel", "end", "sealed"] },
    expected: {
      ...unsealedRow,
      ready: true,
      cancel: true,
      sealed: false,
      source: "completed",
      handoff: "cancelled",
      tip: "original-run completed",
    },
  },
  {
    row: "3",
    decision: "stop",
    given: { gates: ["flush"], acts: [...HOLD, "commit", "reach flush", "stop", "end", "sealed"] },
    expected: {
      ...unsealedRow,
      ready: true,
      commit: true,
      stop: undefined,
      sealed: false,
      end: { kind: "cancelled", by: "user" },
      source: "cancelled",
      handoff: "failed",
      tip: "original-run cancelled",
    },
  },
  {
    row: "4",
    decision: "write_failure",
    given: { acts: [...HOLD, "fail the seal", "commit", "sealed"] },
    expected: {
      seals: 0,
      session: "running",
      dispatches: 1,
      commit: true,
      sealed: "seal_not_durable",
      source: "paused",
      handoff: "paused",
      tip: "original-run paused",
    },
  },
  {
    row: "4",
    decision: "write_failure, then recover in the same process",
    given: { acts: [...HOLD, "fail the seal", "commit", "sealed", "mend the store", "recover", "end", ...RESUME] },
    expected: { ...resumedRow, sealed: "seal_not_durable", end: "sealed" },
  },
  {
    row: "4",
    decision: "write_failure, then the next start",
    given: { acts: [...HOLD, "fail the seal", "commit", "sealed", "mend the store", "reopen", "end", ...RESUME] },
    expected: { ...resumedRow, sealed: "seal_not_durable", end: "sealed" },
  },
  {
    row: "4",
    decision: "write_failure, then stop",
    given: { acts: [...HOLD, "fail the seal", "commit", "sealed", "mend the store", "stop", "end"] },
    expected: { ...unsealedRow, source: "cancelled", handoff: "failed", tip: "original-run cancelled" },
  },
  {
    row: "5",
    decision: "missing_source_snapshot",
    given: { compositions: { "original-run": null }, acts: [...HOLD, "preview", "commit", "cancel", "end", "sealed"] },
    expected: {
      ...unsealedRow,
      ready: true,
      preview: "composition_not_durable",
      commit: "composition_not_durable",
      cancel: true,
      sealed: false,
      source: "completed",
      handoff: "cancelled",
      tip: "original-run completed",
    },
  },
  {
    row: "6",
    decision: "missing_persisted_source_snapshot",
    given: { acts: [...SEAL, "delete the source's composition", ...RESUME] },
    expected: { ...pendingRow, resume: "source_composition_missing" },
  },
  {
    row: "7",
    decision: "missing_capability",
    given: { acts: [...SEAL, "lose prepare", ...RESUME] },
    expected: { ...refusedRow, resume: "composition_preparation_unsupported" },
  },
  {
    row: "8",
    decision: "uncommitted_preparation",
    given: { ...successorDeclares(null), acts: [...SEAL, ...RESUME] },
    expected: { ...refusedRow, resume: "composition_not_durable" },
  },
  ...(
    [
      ["9", "prompt", { promptHash: other }],
      ["10", "tools", { toolsHash: other }],
      ["11", "availability", { availabilityHash: other }],
      ["12", "provider_options", { providerOptionsHash: other }],
      ["13", "context_window", { contextWindow: 8000 }],
    ] as const
  ).map(([row, field, changes]) => ({
    row,
    decision: `${field} drift`,
    given: { ...successorDeclares(changes), acts: [...SEAL, ...RESUME, "end of the successor"] } as const,
    expected: { ...refusedRow, resume: "composition_drift", "end of the successor": { failed: "composition_drift", drift: [field] } },
  })),
  {
    row: "9",
    decision: "drift in two fields",
    given: { ...successorDeclares({ promptHash: other, contextWindow: 1 }), acts: [...SEAL, ...RESUME, "end of the successor"] },
    expected: {
      ...refusedRow,
      resume: "composition_drift",
      "end of the successor": { failed: "composition_drift", drift: ["prompt", "context_window"] },
    },
  },
  {
    row: "14",
    decision: "revision_only",
    given: {
      ...successorDeclares({
        composerId: "other.composer",
        composerRevision: "2",
        sourceRevisions: [{ id: "a", revision: "1" }],
        toolNames: ["x"],
      }),
      acts: [...SEAL, ...RESUME],
    },
    expected: resumedRow,
  },
  {
    row: "17",
    decision: "ended_before_boundary",
    given: {
      steps: { "original-run#1": { report: { text: "done", next: "end", stopReason: "end_turn" } } },
      acts: ["start", "request", "open original-run#1", "ready", "end", "commit", "cancel", "sealed"],
    },
    expected: {
      ...unsealedRow,
      ready: false,
      commit: false,
      cancel: false,
      sealed: false,
      source: "completed",
      handoff: "declined",
      tip: "original-run completed",
    },
  },
  {
    row: "17",
    decision: "stopped before any boundary",
    given: { acts: ["start", "request", "reach original-run#1", "stop", "open original-run#1", "ready", "end", "sealed"] },
    expected: { ...unsealedRow, ready: false, sealed: false, source: "cancelled", handoff: "declined", tip: "original-run cancelled" },
  },
  {
    row: "17",
    decision: "stopped while held",
    given: { acts: [...HOLD, "stop", "end", "commit", "sealed"] },
    expected: {
      ...unsealedRow,
      ready: true,
      commit: false,
      sealed: false,
      source: "cancelled",
      handoff: "declined",
      tip: "original-run cancelled",
    },
  },
  {
    row: "17",
    decision: "failed before any boundary",
    given: {
      steps: {
        "original-run#1": {
          report: () => {
            throw new Error("no model");
          },
        },
      },
      acts: ["start", "request", "open original-run#1", "ready", "end", "sealed"],
    },
    expected: { ...unsealedRow, ready: false, sealed: false, source: "failed", handoff: "declined", tip: "original-run failed" },
  },
  {
    row: "19",
    decision: "abort_request_before_commit",
    given: { acts: [...HOLD, "abort the request", "end", "commit", "sealed"] },
    expected: { ...unsealedRow, commit: false, sealed: false, source: "completed", handoff: "cancelled", tip: "original-run completed" },
  },
  {
    row: "19",
    decision: "abort_request_before_boundary",
    given: { acts: ["start", "request", "abort the request", "open original-run#1", "end", "ready", "sealed"] },
    expected: { ...unsealedRow, ready: false, sealed: false, source: "completed", handoff: "cancelled", tip: "original-run completed" },
  },
  {
    row: "19",
    decision: "abort_request_after_commit",
    given: { gates: ["flush"], acts: [...HOLD, "commit", "abort the request", "open flush", "sealed", ...RESUME] },
    expected: resumedRow,
  },
  {
    row: "20",
    decision: "second_request_while_held",
    given: { acts: [...HOLD, "request another", "preview", "commit", "sealed", ...RESUME] },
    expected: { ...resumedRow, "request another": "handoff_in_progress" },
  },
  {
    row: "21",
    decision: "request_after_cancel",
    given: {
      gates: ["original-run#2"],
      acts: [...HOLD, "cancel", "request another", "open original-run#2", "ready", "commit", "cancel"],
      steps: { "original-run#2": { report: { next: "continue", remainingSteps: 2 } } },
    },
    expected: { cancel: true, "request another": "accepted", "ready 2": true, commit: true, "cancel 2": false, handoff: "cancelled" },
  },
  {
    row: "22",
    decision: "request_on_ended_run, request_on_unknown_run",
    given: { acts: ["start", "open original-run#1", "end", "request", "request on an unknown run"] },
    expected: {
      ...unsealedRow,
      request: "run_not_active",
      "request on an unknown run": "run_not_found",
      source: "completed",
      handoff: undefined,
      tip: "original-run completed",
    },
  },
  {
    row: "22",
    decision: "request_on_sealed_run",
    given: { acts: [...SEAL, "request another"] },
    expected: { ...pendingRow, "request another": "run_not_active" },
  },
  {
    row: "24",
    decision: "resume_twice_in_process",
    given: {
      gates: ["successor-run#1"],
      acts: [
        ...SEAL,
        "check",
        "begin to resume",
        "reach successor-run#1",
        "resume by another handle",
        "open successor-run#1",
        "end of the successor",
      ],
    },
    expected: { ...resumedRow, resume: NOT_ASKED, "resume by another handle": "continuation_in_progress" },
  },
  {
    row: "24",
    decision: "resume again after the successor has ended",
    given: { acts: [...SEAL, ...RESUME, "resume", "check"] },
    expected: { ...resumedRow, "resume 2": "continuation_claim_conflict", "check 2": ["continuation_already_exists"] },
  },
  {
    row: "26",
    decision: "resume_without_purpose",
    given: { acts: [...SEAL, "plain check", "check", "resume as if it were plain", "resume"] },
    expected: { ...resumedRow, "plain check": ["sealed_for_successor"], "resume as if it were plain": "sealed_for_successor" },
  },
  {
    row: "27",
    decision: "event_after_check",
    given: { acts: [...SEAL, "check", "resume what has changed"] },
    expected: { ...pendingRow, "resume what has changed": "source_identity_changed" },
  },
  {
    row: "28",
    decision: "remaining_steps_unbounded",
    given: {
      steps: {
        "original-run#1": { report: { next: "continue", remainingSteps: null } },
        "successor-run#1": { report: { next: "end", stopReason: "end_turn" } },
      },
      acts: [...SEAL, ...RESUME],
    },
    expected: resumedRow,
  },
  {
    row: "28",
    decision: "remaining_steps_exhausted",
    given: {
      steps: { "original-run#1": { report: { next: "continue", remainingSteps: 0 } } },
      acts: ["start", "request", "open original-run#1", "ready", "end", "sealed"],
    },
    expected: {
      ...unsealedRow,
      ready: false,
      sealed: false,
      end: { kind: "completed", stopReason: "step_limit" },
      source: "completed",
      handoff: "declined",
      tip: "original-run completed",
    },
  },
  {
    row: "28",
    decision: "the turn's own limit is reached first",
    given: { maxSteps: 1, acts: ["start", "request", "open original-run#1", "ready", "end", "sealed"] },
    expected: { ...unsealedRow, ready: false, end: { kind: "completed", stopReason: "step_limit" }, handoff: "declined" },
  },
  {
    row: "28",
    decision: "remaining_steps_invalid",
    given: {
      steps: { "original-run#1": { report: { next: "continue", remainingSteps: -1 } } },
      acts: ["start", "request", "open original-run#1", "ready", "end"],
    },
    expected: { ...unsealedRow, ready: false, end: { failed: "step_report_invalid", drift: [] }, source: "failed", handoff: "declined" },
  },
  {
    row: "29",
    decision: "second_handoff",
    given: {
      gates: ["successor-run#1"],
      acts: [
        ...SEAL,
        "check",
        "begin to resume",
        "reach successor-run#1",
        "request on the successor",
        "open successor-run#1",
        "ready",
        "preview",
        "commit",
        "sealed",
        "resume the third",
      ],
    },
    expected: {
      source: "sealed",
      handoff: "resumed",
      session: "idle",
      seals: 2,
      dispatches: 3,
      tip: "third-run completed",
      "preview 2": { rootRunId: "original-run", successorRunId: "third-run", claimId: "claim-2", remainingSteps: 1 },
      "resume the third": "completed",
    },
  },
  {
    row: "31",
    decision: "stop_after_seal",
    given: { acts: [...SEAL, "check", "stop", "end of the successor", "resume", "stop"] },
    expected: {
      ...sealedRow,
      stop: undefined,
      "end of the successor": { kind: "cancelled", by: "user" },
      resume: "continuation_claim_conflict",
      "stop 2": "run_not_active",
      handoff: "failed",
      session: "idle",
      dispatches: 1,
      tip: "successor-run cancelled",
    },
  },
  {
    row: "32",
    decision: "stop while the successor prepares",
    given: {
      gates: ["prepare successor-run"],
      acts: [...SEAL, "check", "begin to resume", "reach prepare successor-run", "stop", "end of the successor"],
    },
    expected: { ...sealedRow, handoff: "failed", session: "idle", dispatches: 1, tip: "successor-run cancelled" },
  },
  {
    row: "32",
    decision: "stop in the successor's first step",
    given: {
      gates: ["successor-run#1"],
      acts: [...SEAL, "check", "begin to resume", "reach successor-run#1", "stop", "stop", "open successor-run#1", "end of the successor"],
    },
    expected: {
      ...sealedRow,
      "stop 2": "stop_in_progress",
      handoff: "resumed",
      session: "idle",
      dispatches: 2,
      tip: "successor-run cancelled",
    },
  },
  {
    row: "35",
    decision: "the process ends while the run is held",
    given: { acts: [...HOLD, "reopen", "recover", "end", "plain check"] },
    expected: {
      ...unsealedRow,
      end: { failed: "interrupted_at_boundary", drift: [] },
      "plain check": "continue",
      source: "failed",
      handoff: "declined",
      tip: "original-run failed",
    },
  },
  {
    row: "35",
    decision: "the process ends while the run is paused",
    given: { gates: ["flush"], acts: [...HOLD, "preview", "commit", "reach flush", "reopen", "open flush", "end", ...RESUME] },
    expected: { ...resumedRow, sealed: NOT_ASKED, end: "sealed" },
  },
  {
    row: "35",
    decision: "the process ends when the run is sealed",
    given: { acts: [...SEAL, "reopen", ...RESUME] },
    expected: resumedRow,
  },
  {
    row: "35",
    decision: "the process ends between claim and dispatch",
    given: {
      gates: ["prepare successor-run"],
      acts: [...SEAL, "check", "begin to resume", "reach prepare successor-run", "reopen", "end of the successor", "check"],
    },
    expected: {
      ...refusedRow,
      "end of the successor": { failed: "interrupted_before_dispatch", drift: [] },
      "check 2": ["continuation_already_exists"],
    },
  },
  {
    row: "39",
    decision: "handoff_while_waiting",
    given: {
      steps: { "original-run#1": asks },
      acts: [
        "start",
        "open original-run#1",
        "wait for the question",
        "request",
        "ready",
        "preview",
        "commit",
        "sealed",
        "check",
        "begin to resume",
        "wait for the successor's question",
        "answer",
        "end of the successor",
        "answer",
      ],
    },
    expected: { ...resumedRow, resume: NOT_ASKED, "answer 2": undefined, preview: { interaction: question, remainingSteps: 2 } },
  },
  {
    row: "39",
    decision: "handoff_while_waiting, cancelled",
    given: {
      steps: { "original-run#1": asks },
      acts: [
        "start",
        "open original-run#1",
        "wait for the question",
        "request",
        "ready",
        "answer the original",
        "cancel",
        "answer the original",
        "end",
        "sealed",
      ],
    },
    expected: {
      ...unsealedRow,
      "answer the original": undefined,
      cancel: true,
      "answer the original 2": undefined,
      sealed: false,
      source: "completed",
      handoff: "cancelled",
    },
  },
  {
    row: "39",
    decision: "restart while held from waiting",
    given: {
      steps: { "original-run#1": asks },
      acts: [
        "start",
        "open original-run#1",
        "wait for the question",
        "request",
        "ready",
        "reopen",
        "recover",
        "answer the original",
        "end",
      ],
    },
    expected: {
      ...unsealedRow,
      "answer the original": undefined,
      end: { kind: "completed", stopReason: "end_turn" },
      handoff: "cancelled",
    },
  },
  {
    row: "40",
    decision: "partial_output",
    given: {
      steps: {
        "original-run#1": {
          partial: ["fi", "rst"],
          calls: [{ name: "note", args: { thing: "a" } }],
          report: { text: "first", next: "continue", remainingSteps: 2 },
        },
      },
      acts: [...SEAL, ...RESUME],
    },
    expected: resumedRow,
  },
];

describe("the decision matrix", () => {
  it.each(ROWS)("row $row, $decision", async ({ given, expected }) => {
    const play = await Play.of(given);
    expect(play.found).toMatchObject(
      Object.fromEntries(Object.entries(expected).filter(([act, value]) => value !== NOT_ASKED || act in play.answers)),
    );
    holdsForEveryTurn(play);
    if (play.sealOf("original-run")) holdsForEverySeal(play);
    if (play.world.state("handoff/handoff-1") === "resumed") holdsForEveryDispatchedSuccessor(play);
    // The source of row 6 was damaged on purpose.
    const faults = given.acts.includes("delete the source's composition") ? ["row_missing"] : [];
    expect(play.world.holdfast.verify().faults.map((fault) => fault.code)).toEqual(faults);
    const before = play.world.dump();
    await play.world.holdfast.recover();
    await play.world.holdfast.recover();
    if (play.world.state("run/original-run") !== "paused") expect(play.world.dump()).toBe(before);
  });
});

/** One user message, one dispatch a run at most, one outcome a run at most, one origin. */
function holdsForEveryTurn({ world }: Play): void {
  const texts = world.actors("run").flatMap((row) => world.rows(row.address).filter((entry) => entry.event.includes(TEXT)));
  expect(texts.length).toBeLessThanOrEqual(1);
  for (const row of world.actors("run")) {
    const facts = world.facts(row.address);
    expect(facts.filter((fact) => fact.type === "run.dispatched").length).toBeLessThanOrEqual(1);
    expect(facts.filter((fact) => fact.type === "run.ended" || fact.type === "run.sealed")).toHaveLength(row.status === "final" ? 1 : 0);
    expect(facts[0]).toMatchObject({
      type: "run.opened",
      turnId: "logical-turn",
      rootRunId: "original-run",
      origin: { kind: "goal", goalId: "goal-1" },
    });
  }
}

/** The seal is the preview, byte for byte; nobody saw an end before the successor's; recovery leaves the sealed run as it is. */
function holdsForEverySeal(play: Play): void {
  const { world, seen, resumed, answers } = play;
  const seal = world.rows("run/original-run").at(-1);
  const preview = answers.preview as Record<string, unknown>;
  if (typeof preview === "object" && preview) expect(seal?.facts).toBe(JSON.stringify([{ type: "run.sealed", ...preview }]));
  const [handoffId, successorRunId, claimId] =
    world.state("handoff/handoff-1") === "cancelled" ? ["handoff-2", "successor-2", "claim-2"] : ["handoff-1", "successor-run", "claim-1"];
  expect(play.sealOf("original-run")).toMatchObject({
    protocol: "holdfast.seal.v1",
    handoffId,
    rootRunId: "original-run",
    successorRunId,
    claimId,
  });
  expect(endings(seen)).toEqual([]);
  expect(endings(resumed).length).toBeLessThanOrEqual(1);
}

/** The successor goes on with the original text and what was left, and adds no message of the user. */
function holdsForEveryDispatchedSuccessor({ world, backend, given }: Play): void {
  const seal = world.facts("run/original-run").find((fact) => fact.type === "run.sealed");
  const unbounded = given.steps?.["original-run#1"]?.report;
  const expected = typeof unbounded === "object" && unbounded.remainingSteps === null ? null : 2;
  expect(seal?.remainingSteps).toBe(expected);
  const first = backend.steps.find((step) => step.runId === "successor-run");
  if (!first) throw new Error("the successor was dispatched and its backend saw nothing");
  expect({ ...first }).toMatchObject({
    turnId: "logical-turn",
    rootRunId: "original-run",
    step: 1,
    maxSteps: expected,
    text: "",
    headAnchor: { runId: "original-run", turnId: "logical-turn", text: TEXT },
    continuation: { purpose: "handoff", sourceRunId: "original-run", denied: false },
  });
  const facts = world.facts("run/successor-run");
  expect(facts.filter((fact) => fact.type === "message.added" && fact.role === "user" && fact.from === "input")).toEqual([]);
  expect(facts[0]?.source).toMatchObject({
    kind: "handoff",
    handoffId: "handoff-1",
    claimId: "claim-1",
    denied: false,
    runId: "original-run",
  });
  const row = world.reader.actor("run/original-run");
  expect(same(facts[0]?.source.head, { runId: "original-run", seq: row?.seq, hash: row?.hash })).toBe(true);
}

describe("a sealed turn", () => {
  const before = { acts: [...SEAL] } satisfies Given;

  it("is left byte-identical by recovery in the process and by the next ones", async () => {
    const play = await Play.of(before);
    const { world } = play;
    const source = () =>
      JSON.stringify([
        world.reader.actor("run/original-run"),
        world.rows("run/original-run"),
        world.reader.effects({ actor: "run/original-run" }, { limit: 10 }),
      ]);
    const [bytes, all] = [source(), world.dump()];
    await world.holdfast.recover();
    await world.holdfast.recover();
    expect(world.dump()).toBe(all);
    for (const _ of [1, 2]) {
      await world.reopen();
      await world.holdfast.recover();
      expect(source()).toBe(bytes);
    }
    await play.act("check");
    await play.act("resume");
    expect(source()).toBe(bytes);
    await world.reopen();
    expect(source()).toBe(bytes);
  });

  it("is named to its successor by the check: same turn, the run that was fixed beforehand", async () => {
    const play = await Play.of({ acts: [...SEAL, "check"] });
    expect(play.continuation).toMatchObject({ purpose: "handoff", turnId: "logical-turn", runId: "successor-run", handoffId: "handoff-1" });
  });

  it("shows the consumer one complete only, after the resume", async () => {
    const play = await Play.of({ acts: [...SEAL, ...RESUME] });
    expect(play.streamFailure).toBeUndefined();
    expect(play.seen.at(-1)?.type).toBe("run.sealed");
    expect(play.resumed.filter((event) => event.type === "run.ended")).toMatchObject([{ kind: "completed", runId: "successor-run" }]);
    expect(play.resumed.at(-1)?.type).toBe("run.ended");
  });

  it("has its partial output in the journal once, before the seal", async () => {
    const play = await Play.of({
      steps: { "original-run#1": { partial: ["fir", "st"], report: { text: "first", next: "continue", remainingSteps: 2 } } },
      acts: [...SEAL, ...RESUME],
    });
    expect(play.seen.filter((event) => event.type === "partial")).toMatchObject([{ output: "fir" }, { output: "st" }]);
    const entries = play.world.actors("run").flatMap((row) => play.world.rows(row.address));
    expect(entries.filter((entry) => entry.event.includes('"first"')).map((entry) => entry.actor)).toEqual(["run/original-run"]);
    expect(entries.some((entry) => entry.event.includes('"fir"'))).toBe(false);
    expect(play.resumed.some((event) => event.type === "message.added" && event.text === "first")).toBe(false);
  });
});

describe("a seal that cannot be written", () => {
  it("fails the stream and `sealed` with its cause, leaves nothing half-written, and is written by recovery", async () => {
    const play = await Play.of({ acts: [...HOLD, "fail the seal", "preview", "commit", "sealed"] });
    const { world } = play;
    await expect(play.handoff?.sealed).rejects.toMatchObject({
      code: "seal_not_durable",
      cause: { code: "storage_failed", cause: { message: "disk full" } },
    });
    expect(play.streamFailure).toMatchObject({ code: "seal_not_durable", cause: { code: "storage_failed" } });
    expect([world.state("run/original-run"), world.state("handoff/handoff-1")]).toEqual(["paused", "paused"]);
    expect(world.holdfast.verify().ok).toBe(true);
    // The store works.
    await world.holdfast.createSession({ backend: "assistant", id: "another" });
    await play.act("mend the store");
    await play.act("recover");
    await play.act("end");
    expect(play.found).toMatchObject({ end: "sealed", seals: 1 });
    holdsForEverySeal(play);
  });

  it("skips live runs when it recovers", async () => {
    const play = await Play.of({ acts: ["start", "reach original-run#1"] });
    const before = play.world.dump();
    await play.world.holdfast.recover();
    await play.world.holdfast.recover();
    expect(play.world.dump()).toBe(before);
    expect(play.backend.steps).toHaveLength(1);
  });
});

describe("a step that ends while a tool has no outcome", () => {
  it("grants no boundary and no seal: the run fails and says so", async () => {
    const play = new Play({
      steps: { "original-run#1": { calls: [{ name: "note", args: { thing: "a" } }], report: { next: "continue", remainingSteps: 2 } } },
      acts: [],
    });
    await play.world.open();
    play.world.probe = (point, { entries = [] }) => {
      if (point === "commit.inside" && entries.some((entry) => entry.facts.includes('"tool.settled"'))) throw new Error("disk full");
    };
    const swallowing = play.backend.step;
    play.backend.step = async (input) => {
      await swallowing(input).catch(() => {});
      return { next: "continue", remainingSteps: 2 };
    };
    for (const act of ["start", "request", "open original-run#1", "ready", "end", "sealed"] as const) await play.act(act);
    expect(play.found).toMatchObject({
      ready: false,
      sealed: false,
      seals: 0,
      source: "failed",
      handoff: "declined",
      end: { failed: "tool_unsettled" },
    });
    expect(play.world.facts("run/original-run")).toContainEqual({ type: "tool.unknown", callId: "1.1", name: "note" });
  });
});
