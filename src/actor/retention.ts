/**
 * Retention: what a root may forget.
 *
 * Guarantees: nothing unfinished is removed; of a deleted actor a tombstone stays, so that the chains of all others, and the order of
 * the root, are verified as before; a blob that any entry, dead letter or record of a quarantine mentions stays.
 * Refuses to run by itself: when and how much is forgotten is for the embedder to say.
 */

import { type Answer, refused } from "./answer.ts";
import type { Draft } from "./draft.ts";
import { engineError, HoldfastError } from "./error.ts";
import { inflated } from "./journal.ts";
import { WAITING } from "./letter.ts";
import { checkOwn, later, own } from "./own-schema.ts";
import { PAGE, pages, pagesOf } from "./page.ts";
import type { ActorRow, JournalRow, StoreReader } from "./store.ts";
import type { Work } from "./work.ts";

/** What may go. What is absent stays. Ages are in ms, by the engine's clock. */
export interface RetentionPolicy {
  /** Final actors whose last entry is older. */
  readonly finalMs?: number;
  /** Only actors of these machines; default: of all. */
  readonly machines?: readonly string[];
  /** Only actors that ended in one of these states, in dotted form; default: in any. */
  readonly states?: readonly string[];
  /** Recorded answers to keyed events that are older: a repetition after that is taken anew. */
  readonly keysMs?: number;
  /** Dead letters that are older; not those that will be delivered when their receiver is released, or its machine is there again. */
  readonly deadLettersMs?: number;
  /**
   * Blobs that were stored longer ago, at least an hour, and that no entry, dead letter or quarantine mentions. It must exceed the time
   * of the longest handler: what that has stored is mentioned by its result, at its end. Reads the whole journal.
   */
  readonly blobsMs?: number;
}

/** How much went. */
export interface Retained {
  readonly actors: number;
  readonly keys: number;
  readonly deadLetters: number;
  readonly blobs: number;
}

/** What retention asks of an actor. */
export type Candidate = Pick<ActorRow, "address" | "status" | "quarantine" | "seq" | "updatedMs">;

/**
 * What goes with a final actor that the policy lets go: in the order in which it goes, itself among it, or nothing, and it stays. None of
 * it goes unless all of it is final, old enough and not set aside.
 */
export type GroupOf = (row: ActorRow) => readonly Candidate[];

interface Duties {
  readonly reader: StoreReader;
  now(): number;
  submit(work: Work): Promise<Answer>;
}

const HOUR_MS = 3_600_000;

/** A blob that was stored a moment ago may be mentioned by the next event only. */
const BLOB_AGE_MIN_MS = HOUR_MS;

/** Entries that go in one commit, where no actor alone has more. */
const PIECE_ENTRIES = 5000;

const policySchema = later(() => {
  const ageMs = own.optional(own.int().check(own.minimum(0)));
  const names = own.optional(own.array(own.string()));
  const blobsMs = own.optional(own.int().check(own.minimum(BLOB_AGE_MIN_MS)));
  return own.strictObject({ finalMs: ageMs, machines: names, states: names, keysMs: ageMs, deadLettersMs: ageMs, blobsMs });
});

/** Removes what the policy lets go, in many small commits; of actors, each with its group. Throws `input_invalid`. */
export async function retain(duties: Duties, policy: RetentionPolicy, groupOf: GroupOf = (row) => [row]): Promise<Retained> {
  const checked = checkOwn(policySchema(), policy);
  if (!checked.ok)
    throw engineError("input_invalid", `the policy is wrong at ${checked.path}: ${checked.message}`, { details: { path: checked.path } });
  const nowMs = duties.now();
  const { keysMs, deadLettersMs } = policy;
  const actors = policy.finalMs === undefined ? 0 : await deleteActors(duties, policy, nowMs - policy.finalMs, groupOf);
  const keys = keysMs === undefined ? 0 : await inPieces(duties, (writer) => writer.deleteAnswers(nowMs - keysMs, PAGE));
  const deadLetters =
    deadLettersMs === undefined ? 0 : await inPieces(duties, (writer) => writer.deleteDeadLetters(nowMs - deadLettersMs, PAGE, WAITING));
  const blobs = policy.blobsMs === undefined ? 0 : await deleteBlobs(duties, nowMs - policy.blobsMs);
  return { actors, keys, deadLetters, blobs };
}

async function deleteActors(
  { reader, submit }: Duties,
  { machines, states }: RetentionPolicy,
  beforeMs: number,
  groupOf: GroupOf,
): Promise<number> {
  const isOld = ({ status, quarantine, updatedMs }: Candidate) => status === "final" && !quarantine && updatedMs < beforeMs;
  /** Groups of which one could not go after all: what is behind it stays. */
  const stopped = new Set<readonly Candidate[]>();
  const filter = { status: "final", quarantined: false, updatedBeforeMs: beforeMs } as const;
  const found = pagesOf(
    (after) => reader.actors(filter, { after, limit: PAGE }),
    (row) => row.ordinal,
  );
  const fits = ({ machine, state }: ActorRow) =>
    (machines === undefined || machines.includes(machine)) && (states === undefined || states.includes(state));
  let count = 0;
  // Page by page: what was found goes also where a later page cannot be read.
  for (const page of found)
    for (const piece of piecesOf(groupsOf(page.filter(fits), groupOf, isOld))) {
      let went = 0;
      const apply = (draft: Draft): Answer => {
        went = 0;
        for (const { address, group } of piece) {
          if (stopped.has(group)) continue;
          const answer = remove(address, draft);
          if (answer.kind !== "refused") went++;
          else if (answer.code !== "actor_not_found") stopped.add(group);
        }
        return { kind: "ignored" };
      };
      // One work, so that what goes later never goes alone.
      refuse(await submit({ kind: "row", apply }));
      count += went;
    }
  return count;
}

function* groupsOf(rows: readonly ActorRow[], groupOf: GroupOf, isOld: (actor: Candidate) => boolean): Generator<readonly Candidate[]> {
  for (const row of rows) {
    const group = groupOf(row);
    if (group.every(isOld)) yield group;
  }
}

interface Leaving {
  readonly address: string;
  readonly group: readonly Candidate[];
}

/** Cuts groups into what goes in one commit each. */
function* piecesOf(groups: Iterable<readonly Candidate[]>): Generator<readonly Leaving[]> {
  let piece: Leaving[] = [];
  let entries = 0;
  for (const group of groups)
    for (const { address, seq } of group) {
      if (piece.length > 0 && (piece.length === PAGE || entries + seq > PIECE_ENTRIES)) {
        yield piece;
        piece = [];
        entries = 0;
      }
      piece.push({ address, group });
      entries += seq;
    }
  if (piece.length > 0) yield piece;
}

/** Removes one final actor. */
export function remove(address: string, draft: Draft): Answer {
  const known = draft.actor(address);
  if (!known || draft.isDeleted(address)) return refused("actor_not_found", `there is no actor ${address}`);
  if (known.kind === "unavailable" && known.code === "actor_quarantined") return refused(known.code, known.message);
  if (!draft.isFinal(address)) return refused("actor_not_final", `${address} has not ended`);
  draft.deleted.add(address);
  return { kind: "ignored" };
}

/** Removes a page at a time, each in a commit of its own, until one is not full. */
async function inPieces({ submit }: Duties, act: (writer: Parameters<Draft["writes"][number]>[0]) => number): Promise<number> {
  for (let count = 0; ; ) {
    let removed = 0;
    const answer = await submit({
      kind: "row",
      apply: (draft) => {
        draft.writes.push((writer) => {
          removed = act(writer);
        });
        return { kind: "ignored" };
      },
    });
    refuse(answer);
    count += removed;
    if (removed < PAGE) return count;
  }
}

/** Marks by reading all entries, then sweeps in small commits, each of which reads the entries that came meanwhile. */
async function deleteBlobs({ reader, submit }: Duties, beforeMs: number): Promise<number> {
  /** Ordinals of old blobs that nothing mentions, by digest. */
  const old = new Map<string, number>();
  for (const { digest, storedMs, ordinal } of pages(
    (after) => reader.blobs({ after, limit: PAGE }),
    (row) => row.ordinal,
  ))
    if (isStoredBefore(beforeMs, storedMs)) old.set(digest, ordinal);
  let last = 0;
  const mark = (from: StoreReader) => {
    for (const row of pages(
      (after) => from.entries({ after, limit: PAGE }),
      (entry) => entry.position,
      last,
    )) {
      last = row.position;
      for (const digest of mentioned(from, row)) old.delete(digest);
    }
  };
  // Before the entries: the sender of a letter, and what its journal mentions, may be deleted meanwhile.
  for (const { event } of pages(
    (after) => reader.deadLetters({}, { after, limit: PAGE }),
    (letter) => letter.position,
  ))
    for (const digest of digestsIn(event)) old.delete(digest);
  // What set an actor aside may be in no entry and no letter: an event of an effect or a timer.
  for (const { quarantine } of pages(
    (after) => reader.actors({ quarantined: true }, { after, limit: PAGE }),
    (row) => row.ordinal,
  ))
    for (const digest of digestsIn(JSON.stringify(quarantine))) old.delete(digest);
  mark(reader);
  let removed = 0;
  while (old.size > 0)
    refuse(
      await submit({
        kind: "row",
        apply: (draft) => {
          draft.writes.push((writer) => {
            mark(writer);
            for (const [digest, ordinal] of [...old].slice(0, PAGE)) {
              old.delete(digest);
              // One that was stored again meanwhile is about to be mentioned.
              const row = writer.blobs({ after: ordinal - 1, limit: 1 })[0];
              if (row?.digest !== digest || !isStoredBefore(beforeMs, row.storedMs)) continue;
              writer.deleteBlob(digest);
              removed++;
            }
          });
          return { kind: "ignored" };
        },
      }),
    );
  return removed;
}

/** What is known of a blob's time is the beginning of its hour: it may have been stored at the end of that. */
function isStoredBefore(beforeMs: number, storedMs: number): boolean {
  return storedMs + HOUR_MS <= beforeMs;
}

/** Digests that an entry mentions, in its columns or in the blobs that stand for them. */
function* mentioned(reader: StoreReader, row: JournalRow): Generator<string> {
  const texts = [row.event, row.facts, row.actions];
  try {
    const whole = inflated(reader, row);
    texts.push(whole.event, whole.facts, whole.actions);
  } catch {
    // A blob that is missing mentions nothing.
  }
  for (const text of texts) yield* digestsIn(text);
}

/** Everything in a text that may be a digest, also within a longer run of digits. */
function* digestsIn(text: string): Generator<string> {
  for (const [, digest] of text.matchAll(/(?=([0-9a-f]{64}))/g)) yield digest as string;
}

function refuse(answer: Answer): void {
  if (answer.kind === "refused") throw new HoldfastError(answer.code, answer.message);
}
