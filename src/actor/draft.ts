/**
 * Draft: what a group of macrosteps would write, in memory.
 *
 * Owns the working copies of rows. A draft reads through to its parent and, at the root, to the open transaction, so that every
 * macrostep sees what the ones before it in the group did; a fork that fails is simply dropped (ACT-7).
 * Refuses to write: `commit.ts` does that, once, after the last macrostep.
 */

import { admitted, older } from "./admission.ts";
import { inflated, inlined, makeEntry } from "./journal.ts";
import type { EntryContent, Ground, Known, Live } from "./known.ts";
import { entryAt, PAGE, pages } from "./page.ts";
import type { Registration } from "./registration.ts";
import type { ActorRow, AnswerRow, DeadLetterRow, EffectRow, JournalRow, Quarantine, StoreWriter, TimerRow } from "./store.ts";
import { isFinal } from "./transition.ts";

export type { Cache, EntryContent, Ground, Known, Live, Unavailable } from "./known.ts";

const MAPS = ["actors", "quarantines", "identities", "answers", "effects", "timers", "blobs"] as const;
const LISTS = ["entries", "deadLetters", "aborts", "writes"] as const;
const SETS = ["rewritten", "released", "deleted", "taken"] as const;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

export class Draft {
  readonly actors = new Map<string, Known>();
  readonly quarantines = new Map<string, Quarantine>();
  readonly entries: JournalRow[] = [];
  readonly identities = new Map<string, string>();
  readonly answers = new Map<string, AnswerRow>();
  /** Null: the row is to be deleted. */
  readonly effects = new Map<string, EffectRow | null>();
  /** Null: the row is to be deleted. */
  readonly timers = new Map<string, TimerRow | null>();
  readonly deadLetters: DeadLetterRow[] = [];
  /** Dead letters that are none any more: stored ones by position, those of this group as they are. */
  readonly taken = new Set<number | DeadLetterRow>();
  /** Actors taken out of quarantine. */
  readonly released = new Set<string>();
  readonly deleted = new Set<string>();
  /** What is written besides, after all rows; called with the whole group's draft. */
  readonly writes: ((writer: StoreWriter, group: Draft) => void)[] = [];
  readonly blobs = new Map<string, Uint8Array>();
  /** Effects whose handlers are asked to stop while their rows stay. */
  readonly aborts: string[] = [];
  /** Actors found damaged when they were read, whose supervisors do not know it yet. Kept by the first draft of a group. */
  readonly untold = new Set<string>();
  /** Actors whose rows are written whole, also without an entry: told of this epoch, or accepted with a changed definition. */
  readonly rewritten = new Set<string>();
  /** Actors as they were read: what their rows are now. Kept by the first draft of a group. */
  readonly stored = new Map<string, Live>();
  ground: Ground;
  readonly #parent: Draft | undefined;
  #spare: Draft | undefined;

  constructor(ground: Ground, parent?: Draft) {
    this.ground = ground;
    this.#parent = parent;
  }

  /** The same draft for the next group, empty: most groups are small, and a draft has many parts. */
  renew(ground: Ground): this {
    this.ground = ground;
    (this as Mutable<Draft>).actors = new Map();
    (this as Mutable<Draft>).stored = new Map();
    if (this.untold.size > 0) (this as Mutable<Draft>).untold = new Set();
    this.entries.length = 0;
    if (this.isPlain()) return this;
    for (const part of [...MAPS, ...SETS]) if (this[part].size > 0) this.#empty(part);
    for (const part of LISTS) this[part].length = 0;
    return this;
  }

  /**
   * Puts a new collection in the place of a used one. To clear it would be the same, but for V8's collector: a table that was cleared
   * refers to the one in its place, and once it is among the old it keeps all that come after it alive.
   */
  #empty(part: (typeof MAPS)[number] | (typeof SETS)[number]): void {
    const own: Record<string, unknown> = this as Mutable<Draft>;
    own[part] = own[part] instanceof Map ? new Map() : new Set();
  }

  /** True where nothing but entries and the snapshots behind them is to be written. */
  isPlain(): boolean {
    return (
      this.quarantines.size + this.identities.size + this.answers.size + this.effects.size + this.timers.size + this.blobs.size === 0 &&
      this.rewritten.size + this.released.size + this.deleted.size + this.taken.size === 0 &&
      this.deadLetters.length + this.aborts.length + this.writes.length === 0
    );
  }

  fork(): Draft {
    const fork = this.#spare ?? new Draft(this.ground, this);
    fork.ground = this.ground;
    this.#spare = undefined;
    return fork;
  }

  /** Takes over what a fork did. The fork is empty after that and is used again, for each macrostep has one. */
  merge(fork: Draft): void {
    this.#spare = fork;
    for (const [address, known] of fork.actors) this.actors.set(address, known);
    (fork as Mutable<Draft>).actors = new Map();
    // Item by item: a call takes some hundred thousand arguments, and a step can tell as many actors.
    for (const entry of fork.entries) this.entries.push(entry);
    fork.entries.length = 0;
    if (fork.isPlain()) return;
    for (const part of MAPS) {
      if (fork[part].size === 0) continue;
      for (const [key, value] of fork[part]) (this[part] as Map<string, unknown>).set(key, value);
      fork.#empty(part);
    }
    for (const part of LISTS) {
      if (fork[part].length === 0) continue;
      for (const one of fork[part]) (this[part] as unknown[]).push(one);
      fork[part].length = 0;
    }
    for (const address of fork.released) this.quarantines.delete(address);
    for (const part of SETS) {
      if (fork[part].size === 0) continue;
      for (const one of fork[part]) (this[part] as Set<unknown>).add(one);
      fork.#empty(part);
    }
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

  timer(key: string): TimerRow | undefined {
    const own = this.timers.get(key);
    if (own !== undefined) return own ?? undefined;
    return this.#parent ? this.#parent.timer(key) : this.ground.reader.timer(key);
  }

  identity(name: string): string | undefined {
    return this.identities.get(name) ?? (this.#parent ? this.#parent.identity(name) : this.ground.reader.identity(name));
  }

  answer(actor: string, key: string): AnswerRow | undefined {
    const own = this.answers.get(JSON.stringify([actor, key]));
    return own ?? (this.#parent ? this.#parent.answer(actor, key) : this.ground.reader.answer(actor, key));
  }

  /** The first entry of an actor, which says how it was created, with its large columns. */
  creationOf(address: string): JournalRow | undefined {
    const row = this.entryOf(address, 1);
    return row && inflated({ blob: (digest) => this.blob(digest) }, row);
  }

  entryOf(address: string, seq: number): JournalRow | undefined {
    const own = this.entries.find((entry) => entry.actor === address && entry.seq === seq);
    return own ?? (this.#parent ? this.#parent.entryOf(address, seq) : entryAt(this.ground.reader, address, seq));
  }

  /** True where there are entries of this address, whether it has a row or not. */
  hasJournal(address: string): boolean {
    return this.ground.reader.journal(address, { limit: 1 }).length > 0;
  }

  /** Entries of this group for one actor, in their order. */
  entriesFor(address: string): JournalRow[] {
    const own = this.entries.filter((entry) => entry.actor === address);
    return this.#parent ? [...this.#parent.entriesFor(address), ...own] : own;
  }

  /** Dead letters to an actor for one of these reasons, oldest first, without those that are none any more. */
  letters(receiver: string, reasons: ReadonlySet<string>): readonly (DeadLetterRow & { readonly position?: number })[] {
    const { reader } = this.ground;
    const stored = () =>
      pages(
        (after) => reader.deadLetters({ receiver }, { after, limit: PAGE }),
        (row) => row.position,
      );
    const before = this.#parent ? this.#parent.letters(receiver, reasons) : [...filtered(stored(), ({ reason }) => reasons.has(reason))];
    const own: (DeadLetterRow & { readonly position?: number })[] = this.deadLetters.filter(
      (letter) => letter.receiver === receiver && reasons.has(letter.reason),
    );
    return [...before, ...own].filter((letter) => !this.taken.has(letter.position ?? letter));
  }

  blob(digest: string): Uint8Array | undefined {
    return this.blobs.get(digest) ?? (this.#parent ? this.#parent.blob(digest) : this.ground.reader.blob(digest));
  }

  /** A new entry behind an actor's last one; large columns become blobs. */
  append(address: string, before: { readonly seq: number; readonly hash: string }, content: EntryContent): JournalRow {
    const entry = makeEntry(before.hash, address, before.seq + 1, {
      atMs: content.atMs,
      version: content.version,
      cause: JSON.stringify(content.cause),
      event: inlined(content.text ?? JSON.stringify(content.event), this.blobs),
      facts: inlined(JSON.stringify(content.facts), this.blobs),
      actions: inlined(JSON.stringify(content.actions), this.blobs),
    });
    this.entries.push(entry);
    return entry;
  }

  /** Why an actor is set aside. */
  quarantineOf(address: string): Quarantine | null | undefined {
    const own = this.quarantines.get(address);
    return own ?? (this.#parent ? this.#parent.quarantineOf(address) : this.ground.reader.actor(address)?.quarantine);
  }

  recordAnswer(row: AnswerRow): void {
    this.answers.set(JSON.stringify([row.actor, row.key]), row);
  }

  isFinal(address: string): boolean {
    const known = this.actor(address);
    return known?.kind === "live" ? isFinal(known.snapshot) : known?.code === "actor_final";
  }

  /** True where an actor of this address was deleted. */
  isDeleted(address: string): boolean {
    if (this.deleted.has(address)) return true;
    return this.#parent ? this.#parent.isDeleted(address) : this.ground.reader.tombstone(address) !== undefined;
  }

  /** Puts another row in the place of one of an actor's effects. */
  replaceEffect(live: Live, row: EffectRow): void {
    this.effects.set(row.key, row);
    this.actors.set(live.address, { ...live, effects: live.effects.map((own) => (own.key === row.key ? row : own)) });
  }

  /** A released actor of another version, as it is read now. */
  readmit(registration: Registration, row: ActorRow): Known {
    const back = older(this, registration, row);
    this.actors.set(row.address, back);
    return back;
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
    const { reader, cache } = this.ground;
    // Nobody else has committed since it was remembered: see `commitGroup`.
    const cached = cache.get(address);
    if (cached) {
      this.stored.set(address, cached);
      return cached;
    }
    const row = reader.actor(address);
    return row && admitted(this, row);
  }
}

function* filtered<Row>(rows: Iterable<Row>, fits: (row: Row) => boolean): Generator<Row> {
  for (const row of rows) if (fits(row)) yield row;
}
