/**
 * Deliveries held against what became of them: each reached its receiver as an entry or is a dead letter, never both and never
 * neither.
 *
 * Memory grows with the dead letters only: a delivery and its entry are of one commit, so they meet at once.
 */

import type { Fault } from "./fold.ts";
import { checkEvent } from "./input.ts";
import type { Cause } from "./journal.ts";
import { canonical } from "./json.ts";
import type { Registration } from "./registration.ts";
import type { JournalRow, PlacedDeadLetterRow, StoreReader } from "./store.ts";
import type { EngineEvent, Request } from "./transition.ts";

interface Sent {
  readonly event: EngineEvent;
  readonly atMs: number;
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
  readonly #sent = new Map<string, Sent[]>();
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
      this.#sent.set(key, [...(this.#sent.get(key) ?? []), { event: action.event, atMs: row.atMs }]);
    }
    if (cause.kind === "delivery") this.#take(JSON.stringify([cause.from, cause.seq, row.actor]), row.actor, row.event);
  }

  /** Takes the dead letters, after the entries. A letter that nobody sent is a fault. */
  letter(row: PlacedDeadLetterRow): Fault[] {
    if (this.#take(JSON.stringify([row.sender, row.seq, row.receiver]), row.receiver, row.event) || this.#blamed(row.sender)) return [];
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
      if (this.#reader.tombstone(receiver) || sent.every(({ atMs }) => atMs < deadLettersMs)) return [];
      const message = `what ${sender} delivered in entry ${seq} is neither an entry nor a dead letter`;
      return { code: "row_missing", actor: receiver, seq: null, message };
    });
  }

  #take(key: string, receiver: string, event: string): boolean {
    const sent = this.#sent.get(key) ?? [];
    const registration = this.#registrations.get(receiver.slice(0, receiver.indexOf("/")));
    const place = sent.findIndex((candidate) => sameEvent(candidate.event, event, registration));
    if (place < 0) return false;
    sent.splice(place, 1);
    if (sent.length === 0) this.#sent.delete(key);
    return true;
  }
}

/** An event arrives as it was sent, or as its receiver's schema made it: of a machine that is not known, its type alone can be told. */
function sameEvent(sent: EngineEvent, arrived: string, registration: Registration | undefined): boolean {
  const found = JSON.parse(arrived);
  if (canonical(sent) === canonical(found)) return true;
  if (!registration) return found?.type === sent.type;
  const checked = checkEvent(registration, sent, "delivery");
  return checked.ok && canonical(checked.event) === canonical(found);
}
