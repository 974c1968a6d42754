import { expect, it } from "vitest";
import { DeliveryCheck } from "../../src/actor/delivery-check.ts";
import { registerAll } from "../../src/actor/engine.ts";
import type { JournalRow, PlacedDeadLetterRow } from "../../src/actor/store.ts";
import { counter } from "./counter.ts";

const WATERMARK_MS = 5;
const [SENDER, RECEIVER] = ["counter/a", "counter/b"];
const added = (by: unknown) => ({ type: "count.added", by });
const told = (to: unknown) => ({ type: "count.tell", to, by: 1 });

/** What becomes of events that the second entry of one actor delivers to another: they are entries and dead letters of these. */
function faults(sent: readonly object[], entries: readonly object[], letters: readonly object[], atMs = WATERMARK_MS): string[] {
  const reader = { tombstone: () => undefined, watermarks: () => ({ answersMs: 0, deadLettersMs: WATERMARK_MS }) };
  const check = new DeliveryCheck(reader, registerAll([counter]), () => false);
  const row = { actor: SENDER, seq: 2, atMs } as JournalRow;
  const actions = sent.map((event) => ({ type: "deliver", to: RECEIVER, event }) as never);
  check.entry(row, { cause: { kind: "outside" }, actions });
  const cause = { kind: "delivery", from: SENDER, seq: 2 } as const;
  for (const event of entries) check.entry({ actor: RECEIVER, event: JSON.stringify(event) } as JournalRow, { cause, actions: [] });
  const found = letters.map((event, index) =>
    check.letter({ receiver: RECEIVER, sender: SENDER, seq: 2, event: JSON.stringify(event), position: index + 1 } as PlacedDeadLetterRow),
  );
  return [...found.flat(), ...check.rest()].map(({ code }) => code);
}

it.each<{ says: string; sent: readonly object[]; entries?: readonly object[]; letters?: readonly object[]; codes: readonly string[] }>([
  { says: "all that was sent", sent: [added(1), added(1), told("x")], entries: [added(1), told("x")], letters: [added(1)], codes: [] },
  { says: "one too few", sent: [added(1), added(1)], entries: [added(1)], codes: ["row_missing"] },
  { says: "one letter too many", sent: [added(1)], letters: [added(1), added(1)], codes: ["row_unexpected"] },
  // The schema of today takes both as they are, so it has not made one of the other.
  {
    says: "one letter twice and another not",
    sent: [added(1), added(2)],
    letters: [added(1), added(1)],
    codes: ["row_unexpected", "row_missing"],
  },
  {
    says: "an entry that a schema made twice, and no other",
    sent: [added(1), told("x")],
    entries: [added(3), added(4)],
    codes: ["row_missing"],
  },
  {
    says: "a letter of one type, and none of another that no schema takes as it is",
    sent: [added(1), told(5)],
    letters: [added(2)],
    codes: ["row_unexpected", "row_missing"],
  },
])("of what one entry delivered, $says is found as $codes", ({ sent, entries = [], letters = [], codes }) => {
  expect(faults(sent, entries, letters)).toEqual(codes);
});

it.each([
  { when: "before", atMs: WATERMARK_MS - 1, codes: [] },
  { when: "when", atMs: WATERMARK_MS, codes: ["row_missing"] },
])("what was delivered $when the last dead letters were removed is missing or not: $codes", ({ atMs, codes }) => {
  expect(faults([added(1)], [], [], atMs)).toEqual(codes);
});
