/**
 * Draft: what a group of macrosteps would write, in memory.
 *
 * Owns the working copies of rows. A draft reads through to its parent and, at the root, to the open transaction, so that every
 * macrostep sees what the ones before it in the group did; a fork that fails is simply dropped (ACT-7).
 * Refuses to write: `commit.ts` does that, once, after the last macrostep.
 */

import type { AnyMachineSnapshot } from "xstate";
import { messageOf } from "./error.ts";
import type { Registration } from "./registration.ts";
import { EFFECTS_LIMIT } from "./request.ts";
import type { ActorRow, AnswerRow, DeadLetterRow, EffectRow, JournalRow, Quarantine, StoreReader } from "./store.ts";
import { dehydrate, hydrate, isFinal, stateName } from "./transition.ts";

/** An actor that can take events. Immutable: a transition makes a new one. */
export interface Live {
  readonly kind: "live";
  readonly address: string;
  readonly id: string;
  readonly registration: Registration;
  readonly snapshot: AnyMachineSnapshot;
  readonly seq: number;
  readonly hash: string;
  readonly epoch: number;
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Effects that are requested and not settled. */
  readonly effects: readonly EffectRow[];
}

/** An actor that exists and cannot take events, with the code that says why. */
export interface Unavailable {
  readonly kind: "unavailable";
  readonly address: string;
  readonly code: "actor_quarantined" | "machine_unknown" | "machine_version_unknown";
  readonly message: string;
  readonly seq: number;
  /** What the group had made of it before it was set aside: those entries stay. */
  readonly last?: Live;
}

export type Known = Live | Unavailable;

/** Snapshots of earlier commits, by address; an entry counts only while its hash equals the stored row's. */
export type Cache = Map<string, Live>;

/** What the root of a draft reads from: the transaction and what the engine knows. */
export interface Ground {
  readonly reader: StoreReader;
  readonly cache: Cache;
  readonly registrations: ReadonlyMap<string, Registration>;
  readonly epoch: number;
}

export class Draft {
  readonly actors = new Map<string, Known>();
  readonly quarantines = new Map<string, Quarantine>();
  readonly entries: JournalRow[] = [];
  readonly identities = new Map<string, string>();
  readonly answers = new Map<string, AnswerRow>();
  /** Null: the row is to be deleted. */
  readonly effects = new Map<string, EffectRow | null>();
  readonly deadLetters: DeadLetterRow[] = [];
  readonly blobs = new Map<string, Uint8Array>();
  /** Effects whose handlers are asked to stop while their rows stay. */
  readonly aborts: string[] = [];
  /** Actors found damaged when they were read, whose supervisors do not know it yet. Kept by the first draft of a group. */
  readonly untold = new Set<string>();
  /** Actors told of this epoch, also where their machine took no notice. */
  readonly reopened = new Set<string>();
  readonly ground: Ground;
  readonly #parent: Draft | undefined;

  constructor(ground: Ground, parent?: Draft) {
    this.ground = ground;
    this.#parent = parent;
  }

  fork(): Draft {
    return new Draft(this.ground, this);
  }

  /** Takes over what a fork did. */
  merge(fork: Draft): void {
    for (const part of ["actors", "quarantines", "identities", "answers", "effects", "blobs"] as const)
      for (const [key, value] of fork[part]) (this[part] as Map<string, unknown>).set(key, value);
    this.entries.push(...fork.entries);
    this.deadLetters.push(...fork.deadLetters);
    this.aborts.push(...fork.aborts);
    for (const address of fork.reopened) this.reopened.add(address);
  }

  actor(address: string): Known | undefined {
    const known = this.actors.get(address) ?? this.#parent?.actor(address);
    if (known || this.#parent) return known;
    const loaded = this.#load(address);
    // Working copies stay in the root draft, so that a group reads each row once.
    if (loaded) this.actors.set(address, loaded);
    return loaded;
  }

  effect(key: string): EffectRow | undefined {
    const own = this.effects.get(key);
    if (own !== undefined) return own ?? undefined;
    return this.#parent ? this.#parent.effect(key) : this.ground.reader.effect(key);
  }

  identity(name: string): string | undefined {
    return this.identities.get(name) ?? (this.#parent ? this.#parent.identity(name) : this.ground.reader.identity(name));
  }

  answer(actor: string, key: string): AnswerRow | undefined {
    const own = this.answers.get(JSON.stringify([actor, key]));
    return own ?? (this.#parent ? this.#parent.answer(actor, key) : this.ground.reader.answer(actor, key));
  }

  /** The first entry of an actor, which says how it was created. */
  creationOf(address: string): JournalRow | undefined {
    const own = this.entries.find((entry) => entry.actor === address && entry.seq === 1);
    return own ?? (this.#parent ? this.#parent.creationOf(address) : this.ground.reader.journal(address, { limit: 1 })[0]);
  }

  /** Why an actor is set aside, as a code. */
  quarantineCode(address: string): string {
    const own = this.quarantines.get(address)?.code;
    return (
      own ??
      (this.#parent ? this.#parent.quarantineCode(address) : this.ground.reader.actor(address)?.quarantine?.code) ??
      "actor_quarantined"
    );
  }

  recordAnswer(row: AnswerRow): void {
    this.answers.set(JSON.stringify([row.actor, row.key]), row);
  }

  /** Sets an actor aside (ACT-10). Its rows stay as they are. */
  quarantine(address: string, quarantine: Quarantine): void {
    const known = this.actor(address);
    const last = known?.kind === "live" ? known : known?.last;
    this.quarantines.set(address, quarantine);
    const unavailable = {
      kind: "unavailable" as const,
      address,
      code: "actor_quarantined" as const,
      message: `${quarantine.code}: ${quarantine.message}`,
    };
    this.actors.set(address, { ...unavailable, seq: known?.seq ?? 0, ...(last ? { last } : {}) });
  }

  #load(address: string): Known | undefined {
    const { reader, cache, registrations } = this.ground;
    const row = reader.actor(address);
    if (!row) return undefined;
    const unavailable = (code: Unavailable["code"], message: string): Unavailable => ({
      kind: "unavailable",
      address,
      code,
      message,
      seq: row.seq,
    });
    if (row.quarantine) return unavailable("actor_quarantined", `${row.quarantine.code}: ${row.quarantine.message}`);
    const registration = registrations.get(row.machine);
    if (!registration) return unavailable("machine_unknown", `no machine ${row.machine} is registered`);
    if (row.version !== registration.version)
      return unavailable(
        "machine_version_unknown",
        `written by version ${row.version} of ${row.machine}; this program has ${registration.version}`,
      );
    const cached = cache.get(address);
    if (cached && cached.hash === row.hash && cached.seq === row.seq && cached.epoch === row.epoch) return cached;
    try {
      const snapshot = hydrate(registration, row.snapshot);
      const effects = isFinal(snapshot) ? [] : reader.effects({ actor: address }, { limit: EFFECTS_LIMIT });
      const { id, seq, hash, epoch, createdMs, updatedMs } = row;
      return { kind: "live", address, id, registration, snapshot, seq, hash, epoch, createdMs, updatedMs, effects };
    } catch (cause) {
      const message = `its stored snapshot cannot be read: ${messageOf(cause)}`;
      this.quarantines.set(address, { code: "snapshot_damaged", message, atMs: row.updatedMs });
      this.untold.add(address);
      return unavailable("actor_quarantined", message);
    }
  }
}

/** The row of a live actor, as it is to be written. */
export function rowOf(live: Live): ActorRow {
  const { snapshot, registration } = live;
  return {
    address: live.address,
    machine: registration.id,
    id: live.id,
    version: registration.version,
    status: isFinal(snapshot) ? "final" : "active",
    state: stateName(snapshot.value),
    seq: live.seq,
    hash: live.hash,
    snapshot: dehydrate(registration, snapshot),
    epoch: live.epoch,
    createdMs: live.createdMs,
    updatedMs: live.updatedMs,
    quarantine: null,
  };
}
