/** Verify: the engine's checks, and what the agent's machines promise across actors. */

import type { AnyStateMachine } from "xstate";
import { machines } from "../../machines/index.ts";
import { registerAll } from "../actor/engine.ts";
import { messageOf } from "../actor/error.ts";
import type { Fault } from "../actor/fold.ts";
import { machineOf } from "../actor/input.ts";
import { sha256 } from "../actor/json.ts";
import { PAGE, pages, wholeEntriesOf } from "../actor/page.ts";
import type { StoreReader } from "../actor/store.ts";
import { type Verified, verify } from "../actor/verify.ts";
import { storedComposition } from "./composition.ts";
import { type ContextOf, contextOf, sourceRunId } from "./snapshot.ts";

/** What else a root may hold, and what is said of machines that are not given. */
export interface VerifyRootOptions {
  /** Machines besides the agent's; one of the same id stands in its place. */
  readonly machines?: readonly AnyStateMachine[];
  readonly unknown?: "fault" | "skip";
}

/** Checks every row of a root and every promise across its actors. Reads only; a root that another process is writing is checked inside `snapshot`. */
export function verifyRoot(reader: StoreReader, { machines: others = [], unknown }: VerifyRootOptions = {}): Verified {
  const own = new Map<string, AnyStateMachine>(machines.map((machine) => [machine.id, machine]));
  for (const { id } of others) own.delete(id);
  const verified = verify(reader, registerAll([...own.values(), ...others]), (transition) => transition(), unknown);
  const faults: Fault[] = [...verified.faults];
  for (const row of pages(
    (after) => (own.has("run") ? reader.actors({ machine: "run" }, { after, limit: PAGE }) : []),
    (row) => row.ordinal,
  ))
    try {
      const run = contextOf(reader, "run", row.id);
      if (run) for (const fault of checkRun(reader, row.address, run)) faults.push(fault);
    } catch (error) {
      faults.push({ code: "snapshot_damaged", actor: row.address, seq: row.seq, message: messageOf(error) });
    }
  // What the agent's machines promise of each other; another machine may ignore what it likes.
  for (const letter of pages(
    (after) => reader.deadLetters({ reason: "delivery_ignored" }, { after, limit: PAGE }),
    (row) => row.position,
  ))
    if (own.has(machineOf(letter.receiver)))
      faults.push({
        code: "delivery_ignored",
        actor: letter.receiver,
        seq: null,
        message: `${letter.receiver} ignored an event of ${letter.sender} (entry ${letter.seq})`,
      });
  return { ...verified, ok: faults.length === 0, faults };
}

function* toolBlobs(reader: StoreReader, address: string): Generator<string> {
  for (const row of wholeEntriesOf(reader, address))
    if (row.event.includes('"blobs"')) {
      const { blobs, input } = JSON.parse(row.event);
      // A settled call's own, or those of all calls that a copied turn settled.
      for (const stored of [blobs, ...(input?.copied?.facts ?? []).map((fact: { blobs?: unknown }) => fact.blobs)])
        yield* (stored ?? []) as string[];
    }
}

/** What a run's snapshot says of rows that the engine knows nothing of: its composition, its tools' blobs, the boundary that it goes on from. */
export function* checkRun(reader: StoreReader, address: string, run: ContextOf<"run">): Generator<Fault> {
  const fault = (code: string, message: string): Fault => ({ code, actor: address, seq: null, message });
  if (run.composition && !storedComposition(reader, run.composition))
    yield fault("row_missing", "the body of its composition is missing or is not what its hashes say");
  for (const digest of toolBlobs(reader, address)) {
    const bytes = reader.blob(digest);
    if (!bytes) yield fault("row_missing", `the blob ${digest} that one of its tools stored is missing`);
    else if (sha256(bytes) !== digest) yield fault("journal_damaged", `the blob ${digest} that one of its tools stored was changed`);
  }
  const source = sourceRunId(run.source);
  if (source === null) return;
  // One run at most starts from a boundary: the identity table must say that it is this one.
  const owner = reader.identity(`boundary/${source}`);
  if (owner !== address) yield fault("row_unexpected", `it continues run/${source}, whose boundary belongs to ${owner ?? "nobody"}`);
  if (run.source.kind !== "handoff" || reader.tombstone(`run/${source}`)) return;
  if (contextOf(reader, "run", source)?.preview?.successorRunId !== run.runId)
    yield fault("row_unexpected", `the seal of run/${source} does not name it`);
}
