/**
 * Copy: a conversation forked at a turn, into a session of its own.
 *
 * Each turn becomes one run that has ended and holds all that the turn's runs stated, with where it comes from. Guarantees: session and
 * runs are one commit; the source is read and never written; what is copied was checked against its hash chain; what is refused leaves
 * nothing.
 * Beside it: copied-name.ts, how references are rewritten.
 */

import { v5, v7 } from "uuid";
import { type Outcome, run as runMachine, session as sessionMachine } from "../../machines/index.ts";
import type { CopiedFact } from "../../machines/run-schema.ts";
import { COPIED_TURNS, type Input } from "../../machines/session-schema.ts";
import type { Engine } from "../actor/engine.ts";
import { HoldfastError } from "../actor/error.ts";
import { toEntry } from "../actor/feed.ts";
import { inflated, PAYLOAD_LIMIT } from "../actor/journal.ts";
import { differenceAt } from "../actor/json.ts";
import { entriesOf, entryAt } from "../actor/page.ts";
import type { StoreReader } from "../actor/store.ts";
import { damageOf, factsOf, storedRun } from "./boundary.ts";
import { CopiedNames } from "./copied-name.ts";
import { plural } from "./count.ts";
import { agentError } from "./error.ts";
import { Session } from "./session.ts";
import { type ContextOf, contextOf } from "./snapshot.ts";
import { statedFacts } from "./transcript.ts";

/** Transitions of the largest copy: the session's creation and one for each of its turns. */
export const COPY_TRANSITIONS = COPIED_TURNS + 1;

/** Namespace of ids that are derived from a copy's own, so that a repeated copy is the same one. */
const COPIED = "a5a0c2be-56c6-4b0e-9d3a-0c1b7a6d9f42";

/** Which turns are copied, and into what. */
export interface CopyOptions {
  /** The last turn that is copied, by its id. Default: the session's last. */
  readonly through?: string;
  /** The new session's id; minted where absent. With the same id and an unchanged source, the session that was made before is given. */
  readonly id?: string;
  /** The new session's name. Default: the source's. */
  readonly name?: string;
}

type CopiedTurn = NonNullable<Input["copied"]>["turns"][number];

/** A turn of the source: its runs, in their order. */
interface SourceTurn {
  readonly turnId: string;
  readonly runIds: string[];
}

/** Makes the copy, in one commit. Throws as `Holdfast.copySession` says. */
export async function copySession(engine: Engine, sessionId: string, options: CopyOptions): Promise<Session> {
  const { through, name, id = v7() } = options ?? {};
  if (through !== undefined && typeof through !== "string")
    throw agentError("argument_invalid", "through is the id of a turn", { details: { path: "through" } });
  const { reader } = engine;
  // Also finds an id that can be none.
  if (!engine.get(sessionMachine, sessionId)) throw agentError("session_not_found", `there is no session ${sessionId}`);
  const source = contextOf(reader, "session", sessionId) as ContextOf<"session">;
  const chosen = chosenTurns(turnsOf(reader, source), sessionId, through);
  for (const turn of chosen) demandEnded(engine, turn);
  const mint = (role: string, turnId: string) => (options?.id === undefined ? v7() : v5(`${id}\n${role}\n${turnId}`, COPIED));
  const turns = copiedTurns(reader, sessionId, chosen, mint);
  const input: Input = {
    sessionId: id,
    name: name ?? source.name,
    configuration: source.configuration,
    copied: { sessionId, turns },
  };
  try {
    await engine.create(sessionMachine, id, { input });
  } catch (error) {
    throw isTooLarge(error) ? tooLarge("it does not fit into one commit", error) : error;
  }
  return new Session(engine, id);
}

/** The turns of a session in their order, walked back from its last run; each run's opening says which one it goes on from. */
function turnsOf(reader: StoreReader, { sessionId, turn, lastRunId }: ContextOf<"session">): SourceTurn[] {
  const address = `session/${sessionId}`;
  const row = reader.actor(address);
  const damage = row && damageOf(reader, row);
  if (damage) throw damaged(address, damage);
  const turns: SourceTurn[] = [];
  const seen = new Set<string>();
  for (let id = turn?.runId ?? lastRunId; id !== null; ) {
    if (seen.has(id)) throw damaged(`run/${id}`, "it would go on from itself");
    seen.add(id);
    const opening = openingOf(reader, id);
    if (opening.sessionId !== sessionId) throw damaged(`run/${id}`, `it is a run of the session ${opening.sessionId}`);
    const current = turns.at(-1);
    if (current?.turnId === opening.turnId) current.runIds.unshift(id);
    else turns.push({ turnId: opening.turnId, runIds: [id] });
    id = opening.previousRunId;
  }
  return turns.reverse();
}

/** How a run was opened, from the journal: its snapshot may be what a person wants to get away from. */
function openingOf(reader: StoreReader, runId: string): { sessionId: string; turnId: string; previousRunId: string | null } {
  const address = `run/${runId}`;
  const first = entryAt(reader, address, 1);
  if (!first) throw damaged(address, "it is gone, and a later run goes on from it");
  try {
    return JSON.parse(inflated(reader, first).event).input;
  } catch (cause) {
    throw cause instanceof SyntaxError ? damaged(address, "its first entry cannot be read") : cause;
  }
}

function chosenTurns(turns: readonly SourceTurn[], sessionId: string, through: string | undefined): readonly SourceTurn[] {
  const last = through === undefined ? turns.length - 1 : turns.findIndex(({ turnId }) => turnId === through);
  if (through !== undefined && last === -1) throw agentError("turn_not_found", `the session ${sessionId} has no turn ${through}`);
  if (last === -1) throw agentError("nothing_to_copy", `the session ${sessionId} has no turn yet`);
  if (last >= COPIED_TURNS) throw tooLarge(`${plural(last + 1, "turn")} are chosen; ${COPIED_TURNS} are allowed`);
  return turns.slice(0, last + 1);
}

/** A handoff that is pending is refused before anything else of its run: claim and successor are this session's alone. */
function demandEnded(engine: Engine, { turnId, runIds }: SourceTurn): void {
  const runId = runIds.at(-1) as string;
  const details = { turn: turnId, run: runId };
  if (engine.get(runMachine, runId)?.getSnapshot().hasTag("handoffPending"))
    throw agentError("branch_runtime_fact_rewrite_unsupported", `the handoff of the turn ${turnId} is pending`, { details });
  if (engine.reader.actor(`run/${runId}`)?.status !== "final")
    throw agentError("run_active", `the run ${runId} of the turn ${turnId} has not ended`, { details });
}

function copiedTurns(
  reader: StoreReader,
  sessionId: string,
  chosen: readonly SourceTurn[],
  mint: (role: string, turnId: string) => string,
): CopiedTurn[] {
  const names = new CopiedNames();
  let size = 0;
  return chosen.map(({ turnId, runIds }) => {
    const copy = { turnId: mint("turn", turnId), runId: mint("run", turnId) };
    names.addTurn(copy.runId, runIds);
    const facts: CopiedFact[] = [];
    for (const fact of turnFacts(reader, runIds, names)) {
      // Counted here, so that what is too large is not read into memory whole.
      size += JSON.stringify(fact).length;
      if (size > PAYLOAD_LIMIT) throw tooLarge(`the facts of the session ${sessionId} have more than ${PAYLOAD_LIMIT} characters`);
      facts.push(fact);
    }
    const { origin, outcome } = endOf(reader, runIds.at(-1) as string);
    return { ...copy, from: { turnId, runIds }, origin, facts, outcome };
  });
}

/** All that the runs of a turn stated, in order, by the names of the copy. */
function* turnFacts(reader: StoreReader, runIds: readonly string[], names: CopiedNames): Generator<CopiedFact> {
  for (const runId of runIds) {
    // Takes the hash of every entry again, and holds the run's snapshot against its opening.
    storedRun(reader, runId, { verify: true });
    for (const row of entriesOf(reader, `run/${runId}`)) {
      if (row.facts === "[]") continue;
      for (const fact of statedFacts(toEntry(reader, row))) yield names.rewritten(runId, fact);
    }
  }
}

/** How a turn ended, by the last fact of its last run, which its snapshot must not contradict. */
function endOf(reader: StoreReader, runId: string): { origin: CopiedTurn["origin"]; outcome: Outcome } {
  const address = `run/${runId}`;
  const row = reader.actor(address);
  const last = row && entryAt(reader, address, row.seq);
  const fact = last && factsOf(reader, last).find(({ type }) => type === "run.ended");
  const context = contextOf(reader, "run", runId);
  if (!fact || !context) throw damaged(address, "its last entry does not say how it ended");
  const { type: _, ...outcome } = fact;
  if (differenceAt(outcome, context.outcome))
    throw agentError("snapshot_damaged", `the snapshot of ${address} says that it ended otherwise than its journal`, {
      details: { actor: address },
    });
  return { origin: context.origin, outcome: outcome as Outcome };
}

function isTooLarge(error: unknown): boolean {
  if (!(error instanceof HoldfastError)) return false;
  if (error.code === "payload_too_large" || error.code === "cascade_limit") return true;
  // A value that its own entry could just hold may be nested too deep for the copy's.
  return error.code === "input_invalid" && /\bcopied\./.test(String(error.details.path ?? ""));
}

function tooLarge(problem: string, cause?: unknown): HoldfastError {
  return agentError("copy_too_large", `the copy would be too large: ${problem}`, cause === undefined ? {} : { cause });
}

function damaged(actor: string, problem: string): HoldfastError {
  return agentError("journal_damaged", `${actor} is damaged: ${problem}`, { details: { actor } });
}
