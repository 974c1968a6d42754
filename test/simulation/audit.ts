/**
 * Audit: the rows of a root held against its journal, after every event, of each actor that has a new entry. It asks what `verify` asks of
 * them, and goes on folding each from where it stood (ACT-3, ACT-4, ACT-10). What belongs to no actor, and a row that was changed without
 * an entry, is found when the whole root is verified, or when that actor has its next entry. The order of an actor's entries is the ledger's.
 */

import type { AnyStateMachine } from "xstate";
import { checkActor } from "../../src/actor/actor-check.ts";
import { DeliveryCheck } from "../../src/actor/delivery-check.ts";
import { registerAll } from "../../src/actor/engine.ts";
import { type Fault, type Folded, fold } from "../../src/actor/fold.ts";
import { idOf, machineOf } from "../../src/actor/input.ts";
import { inflated } from "../../src/actor/journal.ts";
import { PAGE, pages } from "../../src/actor/page.ts";
import type { Registration } from "../../src/actor/registration.ts";
import type { ActorRow, PlacedJournalRow, StoreReader } from "../../src/actor/store.ts";
import { checkEntry } from "../../src/actor/verify.ts";
import { contextOf } from "../../src/agent/snapshot.ts";
import { checkRun } from "../../src/agent/verify.ts";

const enclose = <T>(transition: () => T): T => transition();

export class Audit {
  readonly #reader: StoreReader;
  readonly #registrations: ReadonlyMap<string, Registration>;
  readonly #violated: (what: string) => void;
  readonly #deliveries: DeliveryCheck;
  /** Where the fold of each unfinished actor stands. */
  readonly #folded = new Map<string, Folded>();
  #position = 0;
  #letters = 0;

  constructor(reader: StoreReader, machines: readonly AnyStateMachine[], violated: (what: string) => void) {
    this.#reader = reader;
    this.#registrations = registerAll(machines);
    this.#violated = violated;
    this.#deliveries = new DeliveryCheck(reader, this.#registrations, () => false);
  }

  /** Everything is at rest: what was committed since the last one must agree. */
  rest(): void {
    const grown = new Map<string, PlacedJournalRow[]>();
    for (const row of this.#entries()) {
      if (row.position !== this.#position + 1) this.#violated(`ACT-3: position ${row.position} follows ${this.#position}`);
      this.#position = row.position;
      grown.set(row.actor, [...(grown.get(row.actor) ?? []), row]);
      const whole = inflated(this.#reader, row);
      const told = { cause: JSON.parse(row.cause), actions: JSON.parse(whole.actions) };
      this.#deliveries.entry(whole, told);
      this.#found(checkEntry(this.#reader, row, told));
    }
    for (const [actor, rows] of grown) this.#check(actor, rows);
    const letters = pages(
      (after) => this.#reader.deadLetters({}, { after, limit: PAGE }),
      ({ position }) => position,
      this.#letters,
    );
    for (const letter of letters) {
      this.#letters = letter.position;
      this.#found(this.#deliveries.letter(letter));
    }
    this.#found(this.#deliveries.rest());
    for (const { address, quarantine } of this.#reader.actors({ quarantined: true }, { limit: 10 }))
      this.#violated(`ACT-10: ${address} is set aside: ${quarantine?.message}`);
  }

  #entries(): Iterable<PlacedJournalRow> {
    return pages(
      (after) => this.#reader.entries({ after, limit: PAGE }),
      (row) => row.position,
      this.#position,
    );
  }

  #check(actor: string, rows: readonly PlacedJournalRow[]): void {
    const row = this.#reader.actor(actor);
    const registration = this.#registrations.get(machineOf(actor));
    if (!row || !registration) {
      this.#violated(`audit: ${actor} has a journal and no row`);
      return;
    }
    const folded = fold({ registration, actor, reader: this.#reader, enclose }, rows, this.#folded.get(actor));
    if (row.status === "final") this.#folded.delete(actor);
    else this.#folded.set(actor, folded);
    const ground = { reader: this.#reader, registrations: this.#registrations, enclose, unknown: "fault" } as const;
    this.#found(checkActor(row, ground, folded));
    // Its boundary is taken with its first entry; what it stored is read whole, so not before its end.
    if (row.machine === "run" && (rows[0]?.seq === 1 || row.status === "final")) this.#found(this.#ofRun(row));
  }

  #ofRun(row: ActorRow): Iterable<Fault> {
    const run = contextOf(this.#reader, "run", idOf(row.address));
    return run ? checkRun(this.#reader, row.address, run) : [];
  }

  #found(faults: Iterable<Fault>): void {
    for (const { code, actor, message } of faults) this.#violated(`${OF_FOLD.has(code) ? "ACT-4" : "audit"}: ${code} ${actor}: ${message}`);
  }
}

/** What is found where a fold comes to something else than what is stored. */
const OF_FOLD = new Set(["fold_mismatch", "snapshot_damaged"]);
