/**
 * Turn: one logical execution over all of its runs, from its root run along its seals to the one that decides about it.
 *
 * The claim, the successor and its opening are one commit, so after a seal there is a successor that authenticates, or none and nobody
 * has claimed the turn. Guarantees: a tip is never guessed; whatever the rows of a turn say that does not fit together throws.
 */

import { z } from "zod";
import type { Outcome, Seal } from "../../machines/index.ts";
import { LINEAGE_LIMIT } from "../../machines/schema.ts";
import { entryAt } from "../actor/page.ts";
import type { StoreReader } from "../actor/store.ts";
import type { TranscriptEntry } from "./backend.ts";
import { factsOf, isHead, type StoredRun, storedRun } from "./boundary.ts";
import { plural } from "./count.ts";
import { agentError } from "./error.ts";
import { contextOf } from "./snapshot.ts";
import { runTranscript } from "./transcript.ts";

/** One run of a turn. */
export interface TurnMember {
  readonly runId: string;
  /** The state's name, for people: `sealed`, `running.stepping`. */
  readonly state: string;
  /** What the run was sealed with, or null. */
  readonly seal: Seal | null;
  /** How the run ended; null of one that was sealed, or has not ended. */
  readonly outcome: Outcome | null;
  /** Number and hash of its last entry. */
  readonly seq: number;
  readonly hash: string;
}

/** A seal whose successor does not exist yet. */
export interface PendingHandoff {
  readonly handoffId: string;
  readonly successorRunId: string;
  readonly claimId: string;
}

/** A turn without what was said in it. */
export interface TurnOutline {
  readonly sessionId: string;
  readonly turnId: string;
  readonly rootRunId: string;
  /** The run that decides about the turn; the last of the members. */
  readonly tipRunId: string;
  /** From the root to the tip, 64 at most. */
  readonly members: readonly TurnMember[];
  /** Set where the tip is sealed and waits for its successor. A handoff that is not sealed yet is none of it. */
  readonly pendingHandoff: PendingHandoff | null;
  /** The outcome of the tip: null while the turn goes on or waits. */
  readonly outcome: Outcome | null;
}

/** A turn with what was said in it. */
export interface Turn extends TurnOutline {
  /** Every message and tool fact of the members, read when it is iterated. */
  transcript(): Generator<TranscriptEntry>;
}

/** How a turn is read. `bodies: false` reads rows and the facts of last entries, and neither events nor whole journals. */
export interface ReadTurnOptions {
  readonly bodies?: boolean;
}

/** What a seal states, as far as the walk goes by it. */
const sealIds = z.object({ handoffId: z.string(), rootRunId: z.string(), successorRunId: z.string(), claimId: z.string() });
const ended = z.object({ kind: z.enum(["completed", "failed", "cancelled"]) });

/**
 * Reads the turn that a run is a member of. With bodies each member's chain is verified as well. Throws `run_not_found`,
 * `turn_inconsistent`, `lineage_limit`, `snapshot_damaged`, `journal_damaged`.
 */
export function readTurn(reader: StoreReader, runId: string, options: { readonly bodies: false }): TurnOutline;
export function readTurn(reader: StoreReader, runId: string, options?: { readonly bodies?: true }): Turn;
export function readTurn(reader: StoreReader, runId: string, options?: ReadTurnOptions): TurnOutline | Turn;
export function readTurn(reader: StoreReader, runId: string, { bodies = true }: ReadTurnOptions = {}): TurnOutline | Turn {
  const read = (id: string) => storedRun(reader, id, { verify: bodies });
  const given = read(runId);
  const { sessionId, turnId, rootRunId } = given.identity;
  const root = rootRunId === runId ? given : rootOf(read, given);
  demand(root.identity.source.kind !== "handoff", root, "is the root of a turn and was opened under a seal");
  const members: TurnMember[] = [];
  let pendingHandoff: PendingHandoff | null = null;
  for (let run: StoredRun | undefined = root; run; ) {
    demandMember(run, given, members);
    const member = memberOf(reader, run);
    members.push(member);
    if (!member.seal) break;
    const successor = successorOf(reader, run, member.seal, read);
    if (!successor) {
      const { handoffId, successorRunId, claimId } = member.seal;
      pendingHandoff = { handoffId, successorRunId, claimId };
    }
    run = successor;
  }
  demand(
    members.some((member) => member.runId === runId),
    given,
    `is no member of the turn of its root ${rootRunId}`,
  );
  const tip = members.at(-1) as TurnMember;
  const outline = { sessionId, turnId, rootRunId, tipRunId: tip.runId, members, pendingHandoff, outcome: tip.outcome };
  return bodies ? { ...outline, transcript: () => transcriptOf(reader, outline) } : outline;
}

function* transcriptOf(reader: StoreReader, { members, turnId }: TurnOutline): Generator<TranscriptEntry> {
  for (const { runId } of members) yield* runTranscript(reader, { runId, turnId });
}

/** A missing root is a fault of the run that names it. */
function rootOf(read: (id: string) => StoredRun, given: StoredRun): StoredRun {
  const { rootRunId } = given.identity;
  demand(given.identity.source.kind === "handoff", given, `begins a turn and names ${rootRunId} as its root`);
  return read(rootRunId);
}

/**
 * Throws where a run on the way cannot be a member of the turn that was asked for, or is one too many. None comes twice: each was opened
 * under the seal of one other, and the root under none.
 */
function demandMember(run: StoredRun, { identity: asked }: StoredRun, before: readonly TurnMember[]): void {
  const { sessionId, turnId, rootRunId } = run.identity;
  demand(sessionId === asked.sessionId && turnId === asked.turnId, run, "belongs to another turn or session");
  demand(rootRunId === asked.rootRunId, run, `names another root, ${rootRunId}`);
  if (before.length === LINEAGE_LIMIT)
    throw agentError("lineage_limit", `the turn ${turnId} has more than ${LINEAGE_LIMIT} runs`, { details: { turnId } });
}

/** A run as its last entry ends it, or leaves it. */
function memberOf(reader: StoreReader, run: StoredRun): TurnMember {
  const { row, identity } = run;
  const last = entryAt(reader, row.address, row.seq);
  demand(last?.hash === row.hash, run, "has a row that is not at its last entry");
  demand(!entryAt(reader, row.address, row.seq + 1), run, "has entries after the one that its row is at");
  const ends = last ? factsOf(reader, last).filter(({ type }) => type === "run.sealed" || type === "run.ended") : [];
  demand(ends.length === (row.status === "final" ? 1 : 0), run, `is ${row.status} and its last entry states ${plural(ends.length, "end")}`);
  const [end] = ends;
  const { type, ...stated } = end ?? {};
  const isSeal = type === "run.sealed";
  demand(!end || (isSeal ? sealIds : ended).safeParse(stated).success, run, "ended with a fact that cannot be read");
  return {
    runId: identity.runId,
    state: row.state,
    seal: isSeal ? (stated as unknown as Seal) : null,
    outcome: end && !isSeal ? (stated as unknown as Outcome) : null,
    seq: row.seq,
    hash: row.hash,
  };
}

/** The successor under a seal, authenticated; undefined where the turn waits for it. */
function successorOf(reader: StoreReader, run: StoredRun, seal: Seal, read: (id: string) => StoredRun): StoredRun | undefined {
  const { runId, rootRunId } = run.identity;
  const { handoffId, claimId, successorRunId } = seal;
  demand(seal.rootRunId === rootRunId, run, `was sealed for a turn with the root ${seal.rootRunId}`);
  const address = `run/${successorRunId}`;
  // Who owns the boundary was written by the commit that made the successor, so it outlives a row that was removed by force.
  const owner = reader.identity(`boundary/${runId}`);
  if (!reader.actor(address) && !reader.tombstone(address)) {
    demand(owner === undefined, run, `is sealed, and ${owner}, which continued it, is missing`);
    const handoff = contextOf(reader, "handoff", handoffId);
    demand(
      handoff?.sourceRunId === runId && handoff.sealSeq === run.row.seq,
      run,
      `is sealed, and the handoff ${handoffId} does not know it`,
    );
    return undefined;
  }
  const successor = read(successorRunId);
  const { source } = successor.identity;
  demand(owner === address, successor, `continues ${runId}, whose boundary belongs to ${owner ?? "nobody"}`);
  if (source.kind !== "handoff") throw inconsistent(successor, `is the successor of ${runId} and was not opened under its seal`);
  demand(source.runId === runId, successor, `was opened under the seal of ${source.runId}, not of ${runId}`);
  demand(source.handoffId === handoffId && source.claimId === claimId, successor, `was opened under another claim than ${claimId}`);
  demand(source.head === null || isHead(source.head, run), successor, `was opened for another state of ${runId}`);
  return successor;
}

function demand(condition: boolean, run: StoredRun, problem: string): void {
  if (!condition) throw inconsistent(run, problem);
}

function inconsistent({ identity: { runId, turnId, rootRunId } }: StoredRun, problem: string) {
  return agentError("turn_inconsistent", `the run ${runId} ${problem}`, { details: { runId, turnId, rootRunId } });
}
