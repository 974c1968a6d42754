/**
 * Deliveries held against what became of them: each reached its receiver as an entry or is a dead letter, never both and never
 * neither.
 *
 * Memory grows with the dead letters only: a delivery and its entry are of one commit, so they meet at once.
 */

import type { Fault } from "./fold.ts";
import { checkEvent, machineOf } from "./input.ts";
import type { Cause } from "./journal.ts";
import { canonical } from "./json.ts";
import type { Registration } from "./registration.ts";
import type { JournalRow, PlacedDeadLetterRow, StoreReader } from "./store.ts";
import type { EngineEvent, Request } from "./transition.ts";

/** What one entry has delivered to one receiver, and what of it is not there yet. */
interface Sent {
  readonly atMs: number;
  /** By its text: what was not found as it was sent. */
  readonly texts: Map<string, number>;
  /** By its type. */
  readonly types: Map<string, number>;
  count: number;
}

/** The parts of an entry that speak of other rows, parsed. */
export interface Told {
  readonly cause: Cause;
  readonly actions: readonly Request[];
}

export class DeliveryCheck {
  readonly #registrations: ReadonlyMap<string, Registration>;
  readonly #reader: Pick<StoreReader, "tombstone" | "watermarks">;
  /** Events on their way, by sender, seq and receiver. */
  readonly #sent = new Map<string, Sent>();
  readonly #blamed: (actor: string) => boolean;

  /** `blamed` tells whether an actor has a fault of its own: what follows from that is no fault of those it told. */
  constructor(
    reader: Pick<StoreReader, "tombstone" | "watermarks">,
    registrations: ReadonlyMap<string, Registration>,
    blamed: (actor: string) => boolean,
  ) {
    this.#reader = reader;
    this.#registrations = registrations;
    this.#blamed = blamed;
  }

  /** Takes the entries of a root in the order of their commits. */
  entry(row: JournalRow, { cause, actions }: Told): void {
    for (const action of actions) {
      if (action.type !== "deliver") continue;
      const key = JSON.stringify([row.actor, row.seq, action.to]);
      const sent = this.#sent.get(key) ?? { atMs: row.atMs, texts: new Map(), types: new Map(), count: 0 };
      this.#sent.set(key, sent);
      add(sent.texts, canonical(action.event), 1);
      add(sent.types, action.event.type, 1);
      sent.count++;
    }
    // What its receiver's schema made of it then, only that one could tell; the entry itself is held by its chain.
    if (cause.kind === "delivery") this.#take(JSON.stringify([cause.from, cause.seq, row.actor]), row.event, () => true);
  }

  /** Takes the dead letters, after the entries. A letter that nobody sent is a fault. */
  letter(row: PlacedDeadLetterRow): Fault[] {
    const registration = this.#registrations.get(machineOf(row.receiver));
    const isOf = (sent: string, found: string) => !registration || mayBecome(registration, sent, found);
    if (this.#take(JSON.stringify([row.sender, row.seq, row.receiver]), row.event, isOf) || this.#blamed(row.sender)) return [];
    // Its sender ended and was deleted, and with it the entry that says so.
    if (this.#reader.tombstone(row.sender)) return [];
    return [
      {
        code: "row_unexpected",
        actor: row.receiver,
        seq: null,
        message: `dead letter ${row.position} is not what ${row.sender} delivered`,
      },
    ];
  }

  /** What was delivered and is nowhere. */
  rest(): Fault[] {
    const { deadLettersMs } = this.#reader.watermarks();
    return [...this.#sent].flatMap(([key, sent]) => {
      const [sender, seq, receiver] = JSON.parse(key) as [string, number, string];
      if (this.#blamed(sender) || this.#blamed(receiver)) return [];
      // What retention has removed: the receiver with all that it took, and old dead letters.
      if (this.#reader.tombstone(receiver) || sent.atMs < deadLettersMs) return [];
      const message = `what ${sender} delivered in entry ${seq} is neither an entry nor a dead letter`;
      return { code: "row_missing", actor: receiver, seq: null, message };
    });
  }

  /** An event arrives as it was sent, or as its receiver's schema made it: `isOf` tells where that may be so, of two of one type. */
  #take(key: string, arrived: string, isOf: (sent: string, found: string) => boolean): boolean {
    const sent = this.#sent.get(key);
    const { type } = JSON.parse(arrived) as EngineEvent;
    const text = canonical(JSON.parse(arrived));
    if (!sent?.types.has(type)) return false;
    if (sent.texts.has(text)) add(sent.texts, text, -1);
    else if (!hasOne(sent.texts.keys(), (other) => (JSON.parse(other) as EngineEvent).type === type && isOf(other, text))) return false;
    add(sent.types, type, -1);
    sent.count--;
    if (sent.count === 0) this.#sent.delete(key);
    return true;
  }
}

/** Looks no further than the first that fits. */
function hasOne(texts: Iterable<string>, fits: (text: string) => boolean): boolean {
  for (const text of texts) if (fits(text)) return true;
  return false;
}

/** True unless today's schema takes both as they are: then it is no schema that has made one of the other. */
function mayBecome(registration: Registration, sent: string, found: string): boolean {
  const isKept = (text: string) => {
    const checked = checkEvent(registration, JSON.parse(text), "delivery");
    return checked.ok && canonical(checked.event) === text;
  };
  return !(isKept(sent) && isKept(found));
}

function add(counts: Map<string, number>, of: string, more: number): void {
  const count = (counts.get(of) ?? 0) + more;
  if (count > 0) counts.set(of, count);
  else counts.delete(of);
}
