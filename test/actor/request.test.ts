import { describe, expect, it } from "vitest";
import { z } from "zod";
import { TIME_LIMIT_MS } from "../../src/actor/delay.ts";
import { register } from "../../src/actor/registration.ts";
import { EFFECTS_LIMIT, settleEffects, settleTimers, TIMERS_LIMIT } from "../../src/actor/request.ts";
import type { EffectRow, TimerRow } from "../../src/actor/store.ts";
import { type Request, start, take } from "../../src/actor/transition.ts";
import { nothing, thing } from "./thing.ts";

const effects = Object.fromEntries(
  ["job", "nap"].map((name) => [name, { params: z.looseObject({}), done: "job.done", aborted: "job.failed", delivery: "at_least_once" }]),
);
const machine = thing(
  { initial: "one", states: { one: { on: { go: "two" }, after: { soon: "two" } }, two: { on: { more: "end" } }, end: { type: "final" } } },
  {
    schemas: { effects, events: { go: nothing, more: nothing, "job.done": nothing, "job.failed": nothing }, delays: { soon: "restart" } },
    delays: { soon: 5 },
  },
);
const registration = register(machine);
const SOON = "xstate.after.soon.thing.one";

/** Where an actor is after these events, with no request but those that a test makes. */
function at(...events: string[]) {
  const stamp = { at: 1, seq: 1, id: "thing/a:1" };
  let { snapshot } = start(registration, {}, stamp, (transition) => transition());
  for (const type of events) ({ snapshot } = take(registration, snapshot, { type }, stamp, (transition) => transition()));
  return snapshot;
}

/** A transition of entry 7 that made these requests, each in a microstep, by the entry of a state where there is one. */
function done(
  requests: readonly Request[],
  { events = [], steps, scope = "" }: { events?: string[]; steps?: number[]; scope?: string } = {},
) {
  const made = requests.map((_, index) => ({ step: steps?.[index] ?? 0, scope }));
  const outcome = { snapshot: at(...events), facts: [], requests, made, taken: true };
  return { registration, actor: "thing/a", seq: 7, atMs: 1000, epoch: 3, settled: undefined, outcome };
}

const effect = (name: string): Request => ({ type: "effect", name, params: { n: 1 } });
const row = (key: string, name = "job", more: Partial<EffectRow> = {}): EffectRow => ({
  ...{ key, actor: "thing/a", name, params: "{}", scope: "", child: null, state: "started", epoch: 1, openedMs: 1, error: null },
  ...more,
});
const keys = (rows: readonly { readonly key: string }[]) => rows.map(({ key }) => key);

describe("an effect that is requested", () => {
  it("is a row of its entry and of this ownership, and those that are open stay as they are", () => {
    const before = [row("x")];
    expect(settleEffects({ ...done([effect("nap")]), before })).toEqual({
      effects: [...before, row("thing/a:7:0", "nap", { params: '{"n":1}', state: "open", epoch: 3, openedMs: 1000 })],
      opened: [row("thing/a:7:0", "nap", { params: '{"n":1}', state: "open", epoch: 3, openedMs: 1000 })],
      closed: [],
      aborted: [],
    });
  });

  it("has the number of its request, which counts all requests", () => {
    const change = settleEffects({ ...done([{ type: "deliver", to: "a/b", event: { type: "x" } }, effect("job")]), before: [] });
    expect(keys(change.opened)).toEqual(["thing/a:7:1"]);
  });

  it("takes the place of what the same state asked for in an earlier microstep, by name", () => {
    const scope = "thing.one";
    const before = [
      row("same", "job", { scope }),
      row("other", "nap", { scope }),
      row("actor's own", "job"),
      row("child", "job", { scope, child: "c" }),
    ];
    const change = settleEffects({ ...done([effect("job"), effect("job"), effect("job")], { scope, steps: [0, 1, 1] }), before });
    expect(keys(change.effects)).toEqual(["other", "actor's own", "child", "thing/a:7:1", "thing/a:7:2"]);
    expect([change.closed, keys(change.opened)]).toEqual([["same"], ["thing/a:7:1", "thing/a:7:2"]]);
  });

  it("stands beside all others where no state asked for it", () => {
    const change = settleEffects({ ...done([effect("job"), effect("job")], { steps: [0, 1] }), before: [row("x")] });
    expect(keys(change.effects)).toEqual(["x", "thing/a:7:0", "thing/a:7:1"]);
  });
});

describe("an effect that is open", () => {
  it("ends with its outcome, and no other with it", () => {
    const change = settleEffects({ ...done([]), settled: "x", before: [row("x"), row("y")] });
    expect([keys(change.effects), change.closed]).toEqual([["y"], ["x"]]);
  });

  it("ends where its effect is cancelled: all that were asked for before, and no other", () => {
    const requests: Request[] = [effect("job"), { type: "cancel", effect: "job" }, effect("job")];
    const change = settleEffects({ ...done(requests), before: [row("x"), row("y", "nap")] });
    expect([keys(change.effects), change.closed, change.aborted]).toEqual([["y", "thing/a:7:2"], ["x"], []]);
  });

  it("stays where its effect is asked to stop, and no other is asked", () => {
    const change = settleEffects({ ...done([{ type: "abort", effect: "job" }]), before: [row("x"), row("y", "nap")] });
    expect(change).toMatchObject({ opened: [], closed: [], aborted: ["x"] });
  });

  it("is not asked to stop where it ends in the same transition", () => {
    const requests: Request[] = [
      { type: "abort", effect: "job" },
      { type: "cancel", effect: "job" },
    ];
    expect(settleEffects({ ...done(requests), before: [row("x")] })).toMatchObject({ closed: ["x"], aborted: [] });
  });

  it("ends with the state that asked for it", () => {
    const before = [row("one", "job", { scope: "thing.one" }), row("two", "job", { scope: "thing.two" }), row("actor's own")];
    expect(settleEffects({ ...done([], { events: ["go"] }), before }).closed).toEqual(["one"]);
  });

  it("ends with its actor", () => {
    const change = settleEffects({ ...done([effect("job")], { events: ["go", "more"] }), before: [row("x")] });
    expect(change).toEqual({ effects: [], opened: [], closed: ["x"], aborted: [] });
  });
});

const timer = (id: string, more: object = {}): Request =>
  ({ type: "timer", id, event: { type: "go" }, delay: "soon", delayMs: 5, ...more }) as Request;
const armed = (key: string, id: string, more: Partial<TimerRow> = {}): TimerRow => ({
  ...{ key, actor: "thing/a", id, event: '{"type":"go"}', delay: "soon", policy: "absolute", delayMs: 5, dueMs: 1005, state: "armed" },
  ...more,
});

describe("a timer that is set", () => {
  it("is a row of its entry, due after its delay, with the policy that its machine declares", () => {
    const change = settleTimers({ ...done([timer(SOON), timer("by hand")]), before: [] });
    expect(change.timers).toEqual([armed("thing/a:7:0", SOON, { policy: "restart" }), armed("thing/a:7:1", "by hand")]);
    expect([change.opened, change.closed]).toEqual([change.timers, []]);
  });

  it("has the number of its request, which counts all requests", () => {
    expect(keys(settleTimers({ ...done([effect("job"), timer("x")]), before: [] }).opened)).toEqual(["thing/a:7:1"]);
  });

  it("is due at the last moment of time at the latest", () => {
    const change = settleTimers({ ...done([timer("x", { delayMs: TIME_LIMIT_MS })]), before: [] });
    expect(change.timers[0]?.dueMs).toBe(TIME_LIMIT_MS);
  });

  it("takes the place of the one with its id, and no other", () => {
    const change = settleTimers({ ...done([timer("x")]), before: [armed("old", "x"), armed("other", "y"), armed("none", "")] });
    expect([keys(change.timers), change.closed]).toEqual([["other", "none", "thing/a:7:0"], ["old"]]);
  });

  it("stands beside all others where it has no id", () => {
    const change = settleTimers({ ...done([timer(""), timer("")]), before: [armed("old", "")] });
    expect([keys(change.timers), change.closed]).toEqual([["old", "thing/a:7:0", "thing/a:7:1"], []]);
  });
});

describe("a timer that waits", () => {
  it("ends when it fires, and no other with it", () => {
    const change = settleTimers({ ...done([]), settled: "x", before: [armed("x", "x"), armed("y", "y")] });
    expect([keys(change.timers), change.opened, change.closed]).toEqual([["y"], [], ["x"]]);
  });

  it("ends where it is cancelled, and no other with it", () => {
    const change = settleTimers({ ...done([{ type: "cancelTimer", id: "x" }]), before: [armed("old", "x"), armed("y", "y")] });
    expect([keys(change.timers), change.closed]).toEqual([["y"], ["old"]]);
  });

  it("ends where it is cancelled, and may be set anew by the same transition", () => {
    const requests: Request[] = [timer("x"), { type: "cancelTimer", id: "x" }, timer("x")];
    const change = settleTimers({ ...done(requests), before: [armed("old", "x"), armed("y", "y")] });
    expect([keys(change.timers), keys(change.opened), change.closed]).toEqual([["y", "thing/a:7:2"], ["thing/a:7:2"], ["old"]]);
  });

  it("ends with its actor", () => {
    const change = settleTimers({ ...done([timer("y")], { events: ["go", "more"] }), before: [armed("x", "x")] });
    expect(change).toEqual({ timers: [], opened: [], closed: ["x"] });
  });
});

it("a transition that asks for nothing leaves an actor without effects and timers as it is", () => {
  expect(settleEffects({ ...done([]), before: [] })).toEqual({ effects: [], opened: [], closed: [], aborted: [] });
  expect(settleTimers({ ...done([]), before: [] })).toEqual({ timers: [], opened: [], closed: [] });
});

describe("a bound", () => {
  const refused = expect.objectContaining({ code: "action_invalid", details: { actor: "thing/a" } });
  const many = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

  it("holds the effects of one actor, to the last one", () => {
    const before = many(EFFECTS_LIMIT - 1).map((key) => row(key));
    expect(settleEffects({ ...done([effect("job")]), before }).effects).toHaveLength(EFFECTS_LIMIT);
    expect(() => settleEffects({ ...done([effect("job"), effect("job")]), before })).toThrow(refused);
  });

  it("holds the timers of one actor, to the last one", () => {
    const before = many(TIMERS_LIMIT - 1).map((key) => armed(key, ""));
    expect(settleTimers({ ...done([timer("")]), before }).timers).toHaveLength(TIMERS_LIMIT);
    expect(() => settleTimers({ ...done([timer(""), timer("")]), before })).toThrow(refused);
  });
});
