import { describe, expect, it } from "vitest";
import { assign } from "xstate";
import { type Folded, fold, isFoldedTo } from "../../src/actor/fold.ts";
import { makeEntry } from "../../src/actor/journal.ts";
import { register } from "../../src/actor/registration.ts";
import type { JournalRow } from "../../src/actor/store.ts";
import { dehydrate } from "../../src/actor/transition.ts";
import { counter, make, open, place } from "./counter.ts";
import { thing } from "./thing.ts";

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

/** The rows of a journal that somebody wrote who knows how a chain is made: entry `seq` says something else, and the chain holds. */
function forged<Row extends JournalRow>(rows: readonly Row[], seq: number, change: Partial<JournalRow>): JournalRow[] {
  let hash = "";
  return rows.map((row) => {
    const { actor, seq: own, hash: _, ...content } = row.seq === seq ? { ...row, ...change } : row;
    const entry = makeEntry(hash, actor, own, content);
    hash = entry.hash;
    return entry;
  });
}

const ended = ({ seq, version, faults }: Folded) => [seq, version, ...faults.map(({ code, actor, seq: at }) => [code, actor, at])];

/** A machine that waits, and counts whatever it is told. */
const listener = thing(
  {
    id: "listener",
    context: { heard: 0 },
    initial: "one",
    on: { "*": { actions: assign({ heard: ({ context }: any) => context.heard + 1 }) } },
    states: { one: { after: { soon: "two" } }, two: {} },
  },
  { delays: { soon: 3_600_000 } },
);

async function heard() {
  const { store } = place();
  const engine = await open(store, { machines: [listener] });
  const actor = await engine.create(listener, "a", { input: {} });
  await actor.send({ type: "go" });
  const ground = { registration: register(listener), actor: actor.address, reader: store, enclose: <T>(act: () => T) => act() };
  return { ground, rows: store.journal(actor.address, { limit: 100 }) };
}

describe("a fold stops at the first entry that does not hold, and says which", () => {
  it.each<[string, (rows: JournalRow[]) => JournalRow[], string]>([
    ["is missing", (rows) => rows.toSpliced(1, 1), "entry 2 is missing"],
    ["was changed", (rows) => rows.with(1, { ...(rows[1] as JournalRow), facts: "[]" }), "entry 2 is not what was written"],
  ])("one that %s: damage, and what was folded before it stands", async (_, spoil, message) => {
    const { ground, rows } = await journal();
    const folded = fold(ground, spoil(rows));
    expect(ended(folded)).toEqual([1, "1", ["journal_damaged", "counter/a", 2]]);
    expect(folded.faults[0]?.message).toContain(message);
    expect(folded.hash).toBe(rows[0]?.hash);
  });

  it.each<[string, Partial<JournalRow>, string]>([
    [
      "states something else",
      { facts: '[{"type":"count.changed","count":7}]' },
      "other facts than its machine states (they differ at $.0.count)",
    ],
    [
      "asks for something else",
      { actions: '[{"type":"cancel","effect":"work"}]' },
      "other requests than its machine makes (they differ at $.0)",
    ],
    ["is no JSON", { event: "{" }, "entry 2 cannot be folded"],
    ["is of a cause that is no JSON", { cause: "{" }, "entry 2 cannot be folded"],
    ["brings an outcome that was not asked for", { cause: '{"kind":"result","effect":"counter/a:1:0"}' }, "which was not requested then"],
    ["is of a timer that was not set", { cause: '{"kind":"timer","timer":"counter/a:1:0"}' }, "which was not set then"],
    ["is one that its machine cannot take", { event: '{"type":"guard.throw"}' }, "entry 2 cannot be folded"],
    [
      "migrates from its own version",
      { event: '{"type":"engine.migrated","from":"1"}', cause: '{"kind":"engine"}' },
      "migrates from no version",
    ],
    ["migrates by what somebody sent", { event: '{"type":"engine.migrated","from":"1"}' }, "other facts than its machine states"],
    ["is left out by nobody who may", { event: '{"type":"engine.discarded"}' }, "other facts than its machine states"],
  ])("one that %s", async (_, change, message) => {
    const { ground, rows } = await journal();
    const folded = fold(ground, forged(rows, 2, change));
    expect(ended(folded)).toEqual([2, "1", ["fold_mismatch", "counter/a", 2]]);
    expect(folded.faults[0]?.message).toContain(message);
  });

  it("one whose blob is missing: damage", async () => {
    const { ground, rows } = await journal();
    const folded = fold(ground, forged(rows, 2, { event: `{"$blob":"${"0".repeat(64)}"}` }));
    expect(ended(folded)).toEqual([2, "1", ["journal_damaged", "counter/a", 2]]);
  });
});

it("a fold stops at a timer that was not set, also where another was", async () => {
  const { ground, rows } = await heard();
  const fired = (timer: string) => {
    const event = '{"type":"xstate.after.soon.listener.one"}';
    const actions = '[{"type":"cancelTimer","id":"xstate.after.soon.listener.one"}]';
    return fold(ground, forged(rows, 2, { cause: JSON.stringify({ kind: "timer", timer }), event, actions }));
  };
  expect([fired("listener/a:1:0").snapshot?.value, fired("listener/a:1:0").faults]).toEqual(["two", []]);
  expect(fired("listener/a:1:1").faults).toMatchObject([{ code: "fold_mismatch", message: expect.stringContaining("was not set then") }]);
});

describe("a fold takes as it stands", () => {
  it("an entry of another version, which the chain alone holds", async () => {
    const { ground, rows } = await journal();
    const old = rows.reduce((all, { seq }) => forged(all, seq, { version: "0" }), rows as JournalRow[]);
    const { snapshot, ...folded } = fold(ground, old);
    expect([snapshot, folded]).toEqual([undefined, { seq: 4, hash: old[3]?.hash, version: "0", effects: [], timers: [], faults: [] }]);
  });

  it("a migration from the version of the entry before it, and from no other", async () => {
    const { ground, rows, row } = await journal();
    const migrated = (from: string) => {
      const event = { type: "engine.migrated", from, snapshot: JSON.parse(row?.snapshot ?? ""), effects: [], timers: [] };
      const old = forged(rows.slice(0, 2), 1, { version: "0" });
      return fold(ground, forged(old, 2, { cause: '{"kind":"engine"}', event: JSON.stringify(event) }));
    };
    expect([migrated("0").snapshot?.value, migrated("0").faults]).toEqual(["onceing", []]);
    expect(migrated("7").faults).toMatchObject([{ code: "fold_mismatch", seq: 2, message: "entry 2 migrates from no version" }]);
  });

  it.each([
    ["a notice", { kind: "engine" }, ["listener/a:1:0"]],
    ["a timer, which ends", { kind: "timer", timer: "listener/a:1:0" }, []],
  ])("an entry by which the engine left out %s, also of a machine that takes whatever comes", async (_, cause, timers) => {
    const { ground, rows } = await heard();
    const discarded = { cause: JSON.stringify(cause), event: '{"type":"engine.discarded"}' };
    const folded = fold(ground, forged(rows, 2, discarded));
    expect([folded.snapshot?.value, folded.snapshot?.context, folded.timers.map(({ key }) => key), folded.faults]).toEqual([
      "one",
      { heard: 0 },
      timers,
      [],
    ]);
  });

  it("what says the same in another order", async () => {
    const { ground, rows } = await journal();
    expect(fold(ground, forged(rows, 2, { facts: '[{"count":3,"type":"count.changed"}]' })).faults).toEqual([]);
  });
});

it("nothing was folded where there is no entry, and no snapshot is that", async () => {
  const { ground, row } = await journal();
  const empty = fold(ground, []);
  expect([empty, isFoldedTo(ground.registration, empty, row?.snapshot ?? "")]).toEqual([
    { snapshot: undefined, seq: 0, hash: "", version: "", effects: [], timers: [], faults: [] },
    false,
  ]);
});
