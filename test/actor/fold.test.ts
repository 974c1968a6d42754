import { expect, it } from "vitest";
import { type Folded, fold, isFoldedTo } from "../../src/actor/fold.ts";
import { register } from "../../src/actor/registration.ts";
import { dehydrate } from "../../src/actor/transition.ts";
import { counter, make, open, place } from "./counter.ts";

async function journal() {
  const { store } = place();
  const engine = await open(store, { effects: { once: () => new Promise(() => {}) } });
  const a = await make(engine, "a", 1);
  for (const by of [2, 3]) await a.send({ type: "count.add", by });
  await a.send({ type: "once.start", by: 6 });
  const ground = { registration: register(counter), actor: "counter/a", reader: store, enclose: <T>(transition: () => T) => transition() };
  return { ground, rows: store.journal("counter/a", { limit: 100 }), row: store.actor("counter/a") };
}

const shown = ({ snapshot, ...rest }: Folded) => [snapshot && dehydrate(register(counter), snapshot), rest];

it("a fold that goes on from where one stood comes to the same as one from the beginning", async () => {
  const { ground, rows } = await journal();
  const whole = fold(ground, rows);
  expect([whole.faults, whole.effects.length, rows.length]).toEqual([[], 1, 4]);
  for (let half = 0; half <= rows.length; half++)
    expect(shown(fold(ground, rows.slice(half), fold(ground, rows.slice(0, half))))).toEqual(shown(whole));
});

it("a fold does not go on from one that stopped", async () => {
  const { ground, rows } = await journal();
  const [first, second, ...others] = rows;
  const stopped = fold(ground, [first, { ...second, facts: "[]" }] as typeof rows);
  expect(stopped.faults).toHaveLength(1);
  expect(fold(ground, [second, ...others] as typeof rows, stopped)).toBe(stopped);
});

it("a snapshot is what was folded where its text says the same, in whatever order", async () => {
  const { ground, rows, row } = await journal();
  const whole = fold(ground, rows);
  const text = row?.snapshot ?? "";
  const turned = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(text)).reverse()));
  expect(turned).not.toBe(text);
  expect([text, turned, text.replace('"count":6', '"count":7')].map((one) => isFoldedTo(ground.registration, whole, one))).toEqual([
    true,
    true,
    false,
  ]);
  expect(() => isFoldedTo(ground.registration, whole, "{")).toThrow(SyntaxError);
});
