/**
 * Boundaries: what a run stands on, as a list of segments and its digest.
 *
 * A segment is the head of one run's hash chain, so it binds every entry of that run up to there, and needs none of them. The
 * segments of a run are its own and those of all the runs that it continues, under seals or plainly; their digest names a boundary.
 * Only what is recorded is compared: nothing is repaired, and no missing run is passed over.
 */

import { z } from "zod";
import { LINEAGE_LIMIT } from "../../machines/schema.ts";
import { chainFault, inflated, NO_HASH } from "../actor/journal.ts";
import { canonical, differenceAt, sha256 } from "../actor/json.ts";
import { entriesOf, entryAt } from "../actor/page.ts";
import type { ActorRow, JournalRow, StoreReader } from "../actor/store.ts";
import { agentError } from "./error.ts";
import { contextOf, sourceRunId } from "./snapshot.ts";

const DOMAIN = "holdfast.boundary.v1";

/** One run's part of a lineage: its identities, and the head of its hash chain. */
export interface Segment {
  readonly sessionId: string;
  readonly turnId: string;
  readonly runId: string;
  /** Number of its last entry. */
  readonly seq: number;
  /** Hash of that entry, which binds all before it. */
  readonly hash: string;
}

const head = z.object({ runId: z.string(), seq: z.number(), hash: z.string() });
/** Digest of the segments that the source of a continuation ended with, where it was recorded. */
const boundary = z.string().nullable().default(null);

/** What identifies a run, as it was opened. Other fields of a context are none of a lineage's business. */
const identity = z.object({
  sessionId: z.string(),
  turnId: z.string(),
  runId: z.string(),
  rootRunId: z.string(),
  source: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("fresh") }),
    z.object({ kind: z.literal("copy") }),
    z.object({
      kind: z.literal("handoff"),
      handoffId: z.string(),
      claimId: z.string(),
      runId: z.string(),
      head: head.nullable(),
      boundary,
    }),
    z.object({ kind: z.literal("plain"), runId: z.string(), head, boundary }),
  ]),
});

/** A stored run by what identifies it, and its row. */
export interface StoredRun {
  readonly row: ActorRow;
  readonly identity: z.infer<typeof identity>;
}

/** How far a reading goes: `verify` takes every entry's hash again and holds the run's context against its opening. */
export interface ReadingOptions {
  readonly verify?: boolean;
}

/**
 * The segments of a run, oldest first, its own last: the runs that it continues, back to one that began fresh. Of a run that has not
 * ended it is the head of the moment. Throws `run_not_found`, `lineage_limit`, `lineage_cycle`, `lineage_mismatch`,
 * `snapshot_damaged`, and with `verify` also `journal_damaged`.
 */
export function segmentsOf(reader: StoreReader, runId: string, options: ReadingOptions = {}): Segment[] {
  const runs = [storedRun(reader, runId, options)];
  const seen = new Set([runId]);
  for (let run = runs[0] as StoredRun; ; ) {
    const id = sourceRunId(run.identity.source);
    if (id === null) break;
    if (seen.has(id))
      throw agentError("lineage_cycle", `the run ${id} would continue itself`, { details: { run: id, from: run.identity.runId } });
    if (seen.size === LINEAGE_LIMIT)
      throw agentError("lineage_limit", `the lineage of ${runId} has more than ${LINEAGE_LIMIT} runs`, { details: { runId } });
    seen.add(id);
    run = storedRun(reader, id, options);
    runs.push(run);
  }
  const segments: Segment[] = [];
  for (const run of runs.reverse()) {
    const problem = jointFault(run, segments, runs[segments.length - 1]);
    if (problem)
      throw agentError("lineage_mismatch", `the run ${run.identity.runId} ${problem}`, { details: { runId: run.identity.runId } });
    segments.push(segmentOf(run));
  }
  return segments;
}

/** The digest that names a boundary: SHA-256, in hex, of its segments. */
export function boundaryDigest(segments: readonly Segment[]): string {
  const parts = segments.map(({ sessionId, turnId, runId, seq, hash }) => ({ sessionId, turnId, runId, seq, hash }));
  return sha256(canonical({ domain: DOMAIN, segments: parts }));
}

/** A run as its row and its context tell it. Throws `run_not_found`, `snapshot_damaged`, and with `verify` `journal_damaged`. */
export function storedRun(reader: StoreReader, runId: string, { verify = false }: ReadingOptions = {}): StoredRun {
  const address = `run/${runId}`;
  const row = reader.actor(address);
  if (!row)
    throw agentError("run_not_found", reader.tombstone(address) ? `the run ${runId} was forgotten` : `there is no run ${runId}`, {
      details: { actor: address },
    });
  const damaged = (problem: string) =>
    agentError("snapshot_damaged", `the snapshot of ${address} ${problem}`, { details: { actor: address } });
  const parsed = identity.safeParse(contextOf(reader, "run", runId));
  if (!parsed.success) throw damaged("does not say which run it is");
  if (parsed.data.runId !== runId) throw damaged(`says that it is the run ${parsed.data.runId}`);
  if (verify) {
    const damage = damageOf(reader, row);
    if (damage) throw agentError("journal_damaged", damage, { details: { actor: address } });
    const opened = openingOf(reader, row);
    const difference = opened ? differenceAt(opened, parsed.data) : "$";
    if (difference) throw damaged(`is not of the run that was opened (${difference})`);
  }
  return { row, identity: parsed.data };
}

/** The head of a run's chain. */
export function segmentOf({ row, identity: { sessionId, turnId, runId } }: StoredRun): Segment {
  return { sessionId, turnId, runId, seq: row.seq, hash: row.hash };
}

/** What is wrong with a run's chain, or undefined. */
export function damageOf(reader: StoreReader, row: ActorRow): string | undefined {
  let hash = NO_HASH;
  let seq = 0;
  for (const entry of entriesOf(reader, row.address)) {
    const fault = chainFault(hash, seq + 1, entry);
    if (fault) return fault;
    ({ hash, seq } = entry);
  }
  return hash === row.hash && seq === row.seq ? undefined : `the journal ends at entry ${seq}, the snapshot is at ${row.seq}`;
}

/** The facts of an entry, also such as are a blob; its event is not read. Throws `journal_damaged`. */
export function factsOf(reader: Pick<StoreReader, "blob">, row: JournalRow): readonly Readonly<Record<string, unknown>>[] {
  const { facts } = inflated(reader, { ...row, event: "", actions: "" });
  try {
    const list: unknown = JSON.parse(facts);
    if (Array.isArray(list) && list.every((fact) => typeof fact === "object" && fact !== null)) return list;
  } catch {
    // The same as a list that is none.
  }
  throw agentError("journal_damaged", `the facts of entry ${row.seq} of ${row.actor} cannot be read`, { details: { actor: row.actor } });
}

/** How a run was opened, by its first entry: what it is where its snapshot cannot be read. Throws `journal_damaged`. */
export function openedAs(reader: StoreReader, runId: string): StoredRun["identity"] {
  const opened = openingOf(reader, { address: `run/${runId}` });
  if (!opened)
    throw agentError("journal_damaged", `the first entry of run/${runId} does not say how it was opened`, {
      details: { actor: `run/${runId}` },
    });
  return opened;
}

function openingOf(reader: StoreReader, { address }: Pick<ActorRow, "address">): StoredRun["identity"] | undefined {
  const first = entryAt(reader, address, 1);
  const opened = first && factsOf(reader, first).find(({ type }) => type === "run.opened");
  return identity.safeParse(opened).data;
}

/** How a run does not go on from the segments before it, or undefined. `before` is the run of the last of them. */
function jointFault({ identity: own }: StoredRun, segments: readonly Segment[], before: StoredRun | undefined): string | undefined {
  const { source, turnId } = own;
  const beginsTurn = own.rootRunId === own.runId && !segments.some((segment) => segment.turnId === turnId);
  if (source.kind === "fresh" || source.kind === "copy" || !before)
    return beginsTurn ? undefined : `begins a turn and names ${own.rootRunId} as its root`;
  const { row, identity: origin } = before;
  if (row.status !== "final") return `continues ${origin.runId}, which has not ended`;
  if (own.sessionId !== origin.sessionId) return `continues a run of another session (${origin.sessionId})`;
  if (source.kind === "plain" && !beginsTurn) return "continues an earlier turn and is not the root of a new one";
  if (source.kind === "handoff" && (turnId !== origin.turnId || own.rootRunId !== origin.rootRunId))
    return "was opened under a seal in another turn than the one that was sealed";
  // Where a turn was stopped before its successor was dispatched, nobody had looked at the source's head.
  if (source.head && !isHead(source.head, before)) return `was opened for another state of ${origin.runId}`;
  return source.boundary === null || source.boundary === boundaryDigest(segments) ? undefined : "was opened for another boundary";
}

/** True where an observed head of a run is the one that its row says. */
export function isHead(observed: z.infer<typeof head>, { row, identity: { runId } }: StoredRun): boolean {
  return observed.runId === runId && observed.seq === row.seq && observed.hash === row.hash;
}
