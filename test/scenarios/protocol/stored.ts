/** What a store says of a turn, and what the model says that it shall: the two must be equal. */

import type { JournalRow, StoreReader } from "../../../src/actor/store.ts";
import { isFinal, stateName } from "../../../src/actor/transition.ts";
import { ADDRESSES, live, type Model } from "../model.ts";

/** Where each actor is: its state and revision, and what it has under way. */
export type Standing = Readonly<Record<string, unknown>>;

export function standingIn(reader: StoreReader): Standing {
  return byAddress((address) => {
    const row = reader.actor(address);
    if (!row) return undefined;
    const effects = reader.effects({ actor: address }, { limit: 100 }).map(({ name, state }) => `${name} ${state}`);
    return { state: row.state, status: row.status, seq: row.seq, effects, quarantine: row.quarantine };
  });
}

/** The same of the model, whose handlers are at work. */
export function standingOf(model: Model): Standing {
  return byAddress((address) => {
    const actor = live(model, address);
    if (!actor) return undefined;
    const { registration, snapshot, seq } = actor;
    const isOnce = (name: string) => registration.effects.get(name)?.delivery === "at_most_once";
    const effects = actor.effects.map(({ name, state }) => `${name} ${state === "open" && isOnce(name) ? "started" : state}`);
    return { state: stateName(snapshot.value), status: isFinal(snapshot) ? "final" : "active", seq, effects, quarantine: null };
  });
}

/** How it came there: what each actor was told, stated and asked for, entry by entry, and what reached nobody. */
export function historyIn(reader: StoreReader): Standing {
  const letters = reader.deadLetters({}, { limit: 100 }).map(({ receiver, reason }) => `${receiver}: ${reason}`);
  return { ...byAddress((address) => historyOf(reader.journal(address, { limit: 1000 }))), letters };
}

export function historyOfModel({ journal, letters }: Model): Standing {
  return {
    ...byAddress((address) => historyOf(journal.filter(({ actor }) => actor === address))),
    letters: letters.map(({ receiver, reason }) => `${receiver}: ${reason}`),
  };
}

function historyOf(rows: readonly JournalRow[]): string[] | undefined {
  if (rows.length === 0) return undefined;
  return rows.map(({ event, facts, actions }) => {
    const types = (texts: string) =>
      JSON.parse(texts).map(({ type, name, to }: Record<string, string>) => [type, name ?? to ?? ""].join(" "));
    return JSON.stringify([JSON.parse(event).type, types(facts), types(actions)]);
  });
}

const byAddress = <T>(of: (address: string) => T | undefined): Record<string, T> =>
  Object.fromEntries(
    ADDRESSES.flatMap((address) => {
      const found = of(address);
      return found === undefined ? [] : [[address, found]];
    }),
  );
