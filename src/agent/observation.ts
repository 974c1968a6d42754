/**
 * Observation: everything that speaks for or against continuing a run, seen in one go. Reads only.
 *
 * What it sees goes into one event as evidence and machines decide; whoever only checks asks the same rules (`doubts`).
 */

import { TOOLS_LIMIT } from "../../machines/evidence.ts";
import {
  type Doubt,
  doubts,
  type Evidence,
  handoff as handoffMachine,
  run as runMachine,
  session as sessionMachine,
} from "../../machines/index.ts";
import { LINEAGE_LIMIT } from "../../machines/schema.ts";
import type { Engine } from "../actor/engine.ts";
import { HoldfastError, messageOf } from "../actor/error.ts";
import type { StoreReader } from "../actor/store.ts";
import { boundaryDigest, type Segment, segmentsOf } from "./boundary.ts";
import { lookUpDenials } from "./denial.ts";
import type { Embedding } from "./embedding.ts";
import { type AgentCode, agentError, isRootFailure } from "./error.ts";
import { type History, historyOf, type UnknownCall } from "./history.ts";
import { type Outcomes, type Reconciled, reconcile } from "./reconcile.ts";
import { contextOf, type SnapshotOf } from "./snapshot.ts";
import { inspectSurroundings, type Surroundings } from "./surroundings.ts";
import { demandConversation } from "./transcript.ts";

/** One reason why a run is not to be continued. */
export interface ParkReason {
  readonly code: AgentCode;
  readonly message: string;
  /** What the reason is about, as plain data; which fields, the page of the code says. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** What a run is to be continued for, and what is known already. */
export interface Purpose {
  readonly purpose: "handoff" | "plain";
  /** What a person said came of calls. */
  readonly outcomes: Outcomes;
  /** Tools that a check saw; null where this is the check. */
  readonly checked: readonly string[] | null;
}

/** What was seen of a source and around it. */
export interface Observation {
  readonly reasons: readonly ParkReason[];
  readonly head: { readonly runId: string; readonly seq: number; readonly hash: string };
  readonly run: SnapshotOf<"run">;
  /** What the rest of it depends on, as it was when it was looked at: a claim is given for nothing later. */
  readonly beside: readonly { readonly actor: string; readonly seq: number }[];
  readonly segments: readonly Segment[];
  readonly evidence: Evidence;
  readonly reconciled: readonly Reconciled[];
}

/** Thrown where an observation ends early: what is seen further would rest on what is not there. */
export class Parked {
  readonly reasons: readonly ParkReason[];

  constructor(reasons: readonly ParkReason[]) {
    this.reasons = reasons;
  }
}

const reason = (code: AgentCode, message: string, details?: ParkReason["details"]): ParkReason => ({
  code,
  message,
  ...(details ? { details } : {}),
});

/**
 * Everything that is seen, or only the reasons where not everything can be. Throws `argument_invalid`, `storage_failed`, `closed`, and for
 * nothing that the source is.
 */
export async function check(
  engine: Engine,
  embedding: Embedding,
  runId: string,
  purpose: Purpose,
): Promise<Observation | { readonly reasons: readonly ParkReason[] }> {
  try {
    return await observe(engine, embedding, runId, purpose);
  } catch (failure) {
    if (failure instanceof Parked) return { reasons: failure.reasons };
    // A mistake of the caller or of ours, or a store that fails, is nothing about the run.
    if (!(failure instanceof HoldfastError) || failure.code === "argument_invalid" || isRootFailure(failure)) throw failure;
    const cause = failure.cause === undefined ? undefined : { cause: messageOf(failure.cause) };
    return { reasons: [reason(failure.code as AgentCode, failure.message, cause)] };
  }
}

/** Everything that is seen. Throws `Parked`, and the failure of whatever could not be read. */
export async function observe(engine: Engine, embedding: Embedding, runId: string, given: Purpose): Promise<Observation> {
  const { reader } = engine;
  const row = reader.actor(`run/${runId}`);
  if (!row) throw new Parked([reason("run_not_found", `there is no run ${runId}`)]);
  if (row.quarantine) throw new Parked([reason("actor_quarantined", row.quarantine.message, { code: row.quarantine.code })]);
  const segments = segmentsOf(reader, runId, { verify: true });
  // Else its successor would go on without what was said before.
  demandConversation(reader, runId);
  const run = engine.get(runMachine, runId)?.getSnapshot() as SnapshotOf<"run">;
  const history = historyOf(reader, segments);
  const ineligible = given.purpose === "handoff" ? unclaimable(engine, run) : unfit(engine, run, segments, history, embedding);
  if (ineligible.length > 0) throw new Parked(ineligible);
  const { sessionId, configuration } = run.context;
  const session = engine.get(sessionMachine, sessionId);
  if (!session) throw new Parked([reason("session_not_found", `there is no session ${sessionId}`)]);
  const present = session.getSnapshot().context.configuration;
  const beside = [{ actor: session.address, seq: session.row().seq }, ...askedOf(reader, run)];
  const { workspace, backgroundSettled, tools } = await seenAround(embedding, present, sessionId);
  const calls = given.purpose === "handoff" ? [] : history.unknown;
  const place = { cwd: present.cwd, signal: AbortSignal.timeout(RECONCILE_MS) };
  const { reconciled, open } = await reconcile(embedding.backends[present.backend], calls, given.outcomes, place);
  const { denials } = embedding;
  const evidence: Evidence = {
    workspace: { source: workedIn(reader, segments, workspace), now: workspace },
    backgroundSettled,
    boundary: boundaryDigest(segments),
    denied: await lookUpDenials(reader, segments, history, denials && ((all) => inTime(denials(all), "denials"))),
    // One that is missing is enough, however many there are.
    tools: {
      missing: history.called.filter((name) => !tools.includes(name)).slice(0, TOOLS_LIMIT),
      checked: given.checked && [...given.checked],
      now: [...tools],
    },
    configuration: { source: configuration, now: present },
    unknown: namesOf(open),
  };
  const reasons = doubts(evidence, given.purpose).map((code) => reason(code, said(code, open), aboutDoubt(code, evidence, open)));
  const head = { runId, seq: row.seq, hash: row.hash };
  return { reasons, head, run, beside, segments, evidence, reconciled };
}

/** How long a program's own look-up may take, and all tools together to say what came of their calls, in ms. */
const RECONCILE_MS = 60_000;

/** Rejects where a look-up takes too long: whoever wants to continue must not wait for ever. */
async function inTime<T>(looked: T | Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${RECONCILE_MS / 1000} s`)), RECONCILE_MS);
  });
  try {
    return await Promise.race([looked, late]);
  } finally {
    clearTimeout(timer);
  }
}

const namesOf = (calls: readonly UnknownCall[]): string[] => [...new Set(calls.map(({ name }) => name))].sort();

const DOUBTS: Readonly<Record<Doubt, string>> = {
  configuration_changed: "the session was configured otherwise since the turn began",
  workspace_unknown: "nobody could tell where the run worked, so nobody can tell whether it is the same place",
  workspace_changed: "the place where the run worked is another one now, or gone",
  background_pending: "work that the run began outside of it may still go on",
  tool_set_changed: "the tools are not those that the run had",
  tools_unknown: "no outcome is known of",
};

const said = (code: Doubt, calls: readonly UnknownCall[]): string =>
  code === "tools_unknown" ? `${DOUBTS[code]} ${calls.map(({ name, callId }) => `${name} (${callId})`).join(", ")}` : DOUBTS[code];

function aboutDoubt(code: Doubt, { configuration, workspace, tools }: Evidence, calls: readonly UnknownCall[]): ParkReason["details"] {
  if (code === "tools_unknown") return { calls };
  if (code === "configuration_changed") return configuration;
  if (code === "workspace_changed") return workspace;
  return code === "tool_set_changed" ? tools : undefined;
}

function seenAround(
  { backends, inspect }: Embedding,
  { backend, cwd }: { readonly backend: string; readonly cwd: string },
  sessionId: string,
): Promise<Surroundings> {
  if (!Object.hasOwn(backends, backend)) throw agentError("backend_unknown", `no backend ${backend} was passed to openHoldfast`);
  return inspectSurroundings({ sessionId, backend, cwd }, backends[backend], inspect && ((input) => inTime(inspect(input), "inspect")));
}

/**
 * What the run waits for, as it was when it was looked at: else a permission that is denied meanwhile would not be inherited. A question
 * that is set aside parks, for its answer could reach nobody; a permission is looked up as a denial.
 */
function askedOf(reader: StoreReader, { context: { interaction } }: SnapshotOf<"run">) {
  const row = interaction ? reader.actor(`interaction/${interaction.id}`) : undefined;
  if (row?.quarantine && interaction?.kind === "question")
    throw new Parked([reason("actor_quarantined", row.quarantine.message, { actor: row.address, code: row.quarantine.code })]);
  return row ? [{ actor: row.address, seq: row.seq }] : [];
}

/** Where the last of the runs worked that worked at all; where none did, every place is as good as the present one. */
function workedIn(reader: StoreReader, segments: readonly Segment[], now: string | null): string | null {
  for (const { runId } of segments.toReversed()) {
    const context = contextOf(reader, "run", runId);
    // Runs of version 1 recorded no place.
    if (context && context.stepsTaken > 0) return context.workspace ?? null;
  }
  return now;
}

/** Why nobody may continue this run's turn under a seal. */
function unclaimable(engine: Engine, run: SnapshotOf<"run">): ParkReason[] {
  const { runId, handoff } = run.context;
  if (!run.hasTag("sealed") || !handoff) return [reason("not_sealed", `the run ${runId} is not sealed`)];
  const snapshot = engine.get(handoffMachine, handoff.handoffId)?.getSnapshot();
  if (snapshot?.hasTag("claimable")) {
    const { sessionId } = run.context;
    if (engine.get(sessionMachine, sessionId)?.getSnapshot().status !== "done") return [];
    return [reason("session_archived", `the session ${sessionId} is archived`)];
  }
  const { successorRunId } = handoff;
  return [reason("continuation_already_exists", `the run ${successorRunId} has claimed the turn`, stateOf(engine, successorRunId))];
}

/** Why this run is not continued in a new turn. */
function unfit(
  engine: Engine,
  run: SnapshotOf<"run">,
  segments: readonly Segment[],
  history: History,
  { continuations }: Embedding,
): ParkReason[] {
  const { runId, sessionId, turnId, handoff, interaction, source } = run.context;
  if (run.hasTag("sealed")) return [reason("sealed_for_successor", `the run ${runId} is sealed for ${handoff?.successorRunId}`)];
  if (!continuations) return [reason("continuation_disabled", "this program continues no ended runs")];
  if (run.status !== "done") {
    const active = reason("run_active", `the run ${runId} has not ended`);
    return interaction ? [active, reason("interaction_open", `the run waits for an answer to ${interaction.id}`)] : [active];
  }
  if (!run.hasTag("resumable"))
    return [reason("nothing_to_resume", `the run ${runId} ${source.kind === "copy" ? "is a copy" : "completed its turn"}`)];
  const found: ParkReason[] = [];
  if (segments.length >= LINEAGE_LIMIT) found.push(reason("lineage_limit", `${LINEAGE_LIMIT} runs lead to ${runId}`));
  const other = engine.reader.identity(`boundary/${runId}`);
  if (other) found.push(reason("continuation_already_exists", `${other} continues it`, stateOf(engine, other.slice("run/".length))));
  const session = engine.get(sessionMachine, sessionId)?.getSnapshot();
  const turn = session?.context.turn;
  if (session?.status === "done") found.push(reason("session_archived", `the session ${sessionId} is archived`));
  else if (turn && turn.turnId !== turnId) found.push(reason("session_busy", `the session ${sessionId} has another turn under way`));
  else if (!turn && !other && session?.context.lastRunId !== runId)
    found.push(reason("turn_superseded", `the session ${sessionId} has gone on since`));
  // A call that nobody can ask about keeps everybody away, whatever else is there.
  const lost = history.unknown.filter((call) => call.reconcile === null);
  if (found.length > 0 && lost.length > 0) found.push(reason("tools_unknown", said("tools_unknown", lost), { calls: lost }));
  return found;
}

/** The run that continues, and how far it is: its name is what a person looks at next. */
function stateOf(engine: Engine, runId: string): ParkReason["details"] {
  return { run: runId, state: engine.reader.actor(`run/${runId}`)?.state ?? null };
}
