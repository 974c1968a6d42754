import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { Answer } from "../../src/actor/answer.ts";
import type { Engine } from "../../src/actor/engine.ts";
import type { Store } from "../../src/actor/store.ts";
import { Timers } from "../../src/actor/timer.ts";
import type { Work } from "../../src/actor/work.ts";
import { openActors } from "../../src/actors.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { faultPoints, runChild } from "../../src/testing/index.ts";
import { timerRow } from "../../src/testing/store-row.ts";
import { gate, journal, open, place, rejection, STORES, temporary } from "./counter.ts";
import { flushed } from "./held.ts";
import { DAY_MS, fired, makeTimed, openTimed, pass, SECOND_MS, settableClock, timed, WAIT_MS } from "./timed.ts";

const ABSOLUTE = "xstate.after.absolute.timed.absolute";
const logOf = (engine: Engine, id = "a"): string[] => engine.get(timed, id)?.getSnapshot().context.log;

/** Sets an actor aside without the engine. */
function setAside(store: Store, address: string): void {
  store.write(store.epoch(), (writer) => {
    const row = writer.actor(address);
    if (row) writer.putActor({ ...row, quarantine: { code: "test", message: "test", atMs: 1 } });
  });
}

describe.each(STORES)("a timer (%s)", (kind) => {
  it("fires exactly once, at its time and not before, as an entry of its own (ACT-8)", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    const actor = await makeTimed(engine, "a", { type: "absolute" });
    const startMs = clock.now();
    expect(engine.timers()).toMatchObject([
      {
        ...{ key: "timed/a:2:0", actor: "timed/a", id: ABSOLUTE, delay: "absolute", policy: "absolute" },
        ...{ delayMs: WAIT_MS, dueMs: startMs + WAIT_MS, state: "armed" },
      },
    ]);
    await pass(clock, WAIT_MS - 1);
    expect([actor.getSnapshot().value, engine.timers().length]).toEqual(["absolute", 1]);
    await pass(clock, 1);
    expect([actor.getSnapshot().value, engine.timers()]).toEqual(["idle", []]);
    expect(journal(engine, "timed/a").at(-1)).toEqual({
      ...{ seq: 3, event: { type: ABSOLUTE }, cause: { kind: "timer", timer: "timed/a:2:0" }, facts: [] },
      // What XState says on leaving the state; nothing is left to cancel.
      actions: [{ type: "cancelTimer", id: ABSOLUTE }],
    });
    await pass(clock, DAY_MS);
    expect(fired(engine, startMs)).toEqual([["timed/a", ABSOLUTE, WAIT_MS]]);
    expect(engine.verify().faults).toEqual([]);
  });

  it("fires exactly once also where it is asked for twice", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    const actor = await makeTimed(engine, "a", { type: "absolute" });
    clock.advance(WAIT_MS);
    // The same commit holds what fires and an event that sets the same timer anew.
    await actor.send({ type: "absolute" });
    await flushed();
    expect([fired(engine).length, engine.timers().map(({ key }) => key)]).toEqual([1, ["timed/a:4:0"]]);
  });

  it("ends in the commit that leaves its state", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    const actor = await makeTimed(engine, "a", { type: "absolute" }, { type: "leave" });
    expect(engine.timers()).toEqual([]);
    await pass(clock, WAIT_MS);
    expect([actor.row().seq, fired(engine)]).toEqual([3, []]);
  });

  it("starts anew where its state is entered again", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    const startMs = clock.now();
    const actor = await makeTimed(engine, "a", { type: "absolute" });
    await pass(clock, 4 * SECOND_MS);
    await actor.send({ type: "again" });
    expect(engine.timers().map(({ key }) => key)).toEqual(["timed/a:3:1"]);
    await pass(clock, WAIT_MS);
    expect(fired(engine, startMs)).toEqual([["timed/a", ABSOLUTE, 4 * SECOND_MS + WAIT_MS]]);
  });

  it("with a delay of 0 fires without any time", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    const actor = await makeTimed(engine, "a", { type: "given", ms: 0 });
    await pass(clock, 0);
    expect([actor.getSnapshot().value, fired(engine).length]).toEqual(["idle", 1]);
  });

  it("of a delay with a fraction is due at a whole millisecond", async () => {
    const engine = await openTimed(place(kind).store, settableClock());
    await makeTimed(engine, "a", { type: "given", ms: 1.4 });
    expect(engine.timers()).toMatchObject([{ delayMs: 1 }]);
  });

  it("that its machine takes no notice of is an entry, and its row ends with it", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    const actor = await makeTimed(engine, "a", { type: "deaf" });
    await pass(clock, WAIT_MS);
    expect([actor.getSnapshot().value, actor.row().seq, engine.timers()]).toEqual(["deaf", 3, []]);
    expect(engine.verify().faults).toEqual([]);
  });

  it.each([
    ["reaches a final state", (actor: Awaited<ReturnType<typeof makeTimed>>) => actor.send({ type: "end" } as never)],
    ["is stopped", (actor: Awaited<ReturnType<typeof makeTimed>>) => actor.stop()],
  ])("ends with all others of its actor when it %s", async (_, end) => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    const actor = await makeTimed(engine, "a", { type: "absolute" }, { type: "remind.once" }, { type: "remind.named" });
    expect(engine.timers().length).toBe(3);
    await end(actor);
    expect(engine.timers()).toEqual([]);
    await pass(clock, WAIT_MS);
    expect([fired(engine), engine.verify().faults]).toEqual([[], []]);
  });
});

describe.each(STORES)("a delayed raise (%s)", (kind) => {
  it("without an id stands beside others of its event, and is not ended by leaving a state", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    await makeTimed(engine, "a", { type: "absolute" }, { type: "remind.once" }, { type: "remind.once" }, { type: "leave" });
    await pass(clock, WAIT_MS);
    expect(logOf(engine)).toEqual(["reminded", "reminded"]);
  });

  it("with an id takes the place of the one that has it", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    const startMs = clock.now();
    const actor = await makeTimed(engine, "a", { type: "remind.named" });
    await pass(clock, SECOND_MS);
    await actor.send({ type: "remind.named" });
    await pass(clock, WAIT_MS);
    expect(fired(engine, startMs)).toEqual([["timed/a", "reminded", SECOND_MS + WAIT_MS]]);
  });

  it("is ended by cancel, and no other with it", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    await makeTimed(engine, "a", { type: "remind.named" }, { type: "remind.once" }, { type: "remind.not" });
    expect(engine.timers().map(({ id }) => id)).toEqual([""]);
    await pass(clock, WAIT_MS);
    expect(logOf(engine)).toEqual(["reminded"]);
  });
});

describe.each(STORES)("a restart (%s)", (kind) => {
  const POLICIES = ["absolute", "remaining", "restart"] as const;

  /** Set at 0, its last commit at 4 s; closed for some time at 4 s, or at 12 s where the timer was due already and could not fire. */
  async function reopened(policy: string, { closedAtMs = 4000, downMs = 0, jumpMs = 0 }) {
    const { store } = place(kind);
    const clock = settableClock();
    const startMs = clock.now();
    const points = faultPoints();
    const first = await openTimed(store, clock, { probe: points.probe });
    const actor = await makeTimed(first, "a", { type: policy });
    await pass(clock, 4000);
    await actor.send({ type: "note" });
    for (let nth = 1; nth <= 10; nth++) points.throwAt("commit.before", new Error("disk"), { nth });
    await pass(clock, closedAtMs - 4000);
    await first.close();
    await pass(clock, downMs);
    clock.set(jumpMs);
    const openedMs = clock.now();
    const engine = await openTimed(store, clock);
    await flushed();
    return { clock, engine, startMs, openedMs };
  }

  it.each<[string, string, object, number]>([
    // Policy, downtime, and when it fires, in ms after the reopening.
    ["absolute", "that ends before the timer is due", { downMs: 1000 }, 5000],
    ["absolute", "over the due time", { downMs: 20_000 }, 0],
    ["absolute", "that begins after the due time", { closedAtMs: 12_000, downMs: 1000 }, 0],
    ["absolute", "with a clock set forward", { downMs: 1000, jumpMs: 3000 }, 2000],
    ["absolute", "with a clock set forward beyond the due time", { downMs: 1000, jumpMs: DAY_MS }, 0],
    ["absolute", "with a clock set back", { downMs: 1000, jumpMs: -DAY_MS }, DAY_MS + 5000],
    ["remaining", "that ends before the timer is due", { downMs: 1000 }, 6000],
    ["remaining", "over the due time", { downMs: 20_000 }, 6000],
    ["remaining", "that begins after the due time", { closedAtMs: 12_000, downMs: 1000 }, 0],
    ["remaining", "with a clock set forward", { downMs: 1000, jumpMs: DAY_MS }, 6000],
    ["remaining", "with a clock set back", { downMs: 1000, jumpMs: -DAY_MS }, 6000],
    ["restart", "that ends before the timer is due", { downMs: 1000 }, WAIT_MS],
    ["restart", "over the due time", { downMs: 20_000 }, WAIT_MS],
    ["restart", "that begins after the due time", { closedAtMs: 12_000, downMs: 1000 }, WAIT_MS],
    ["restart", "with a clock set forward", { downMs: 1000, jumpMs: DAY_MS }, WAIT_MS],
    ["restart", "with a clock set back", { downMs: 1000, jumpMs: -DAY_MS }, WAIT_MS],
  ])("leaves an %s timer its time over a downtime %s", async (policy, _, downtime, afterMs) => {
    const { clock, engine, openedMs } = await reopened(policy, downtime);
    if (afterMs > 0) {
      await pass(clock, afterMs - 1);
      expect(fired(engine)).toEqual([]);
      await pass(clock, 1);
    }
    expect(fired(engine, openedMs).map(([, , ms]) => ms)).toEqual([afterMs]);
    await pass(clock, DAY_MS);
    expect([fired(engine).length, engine.timers(), engine.verify().faults]).toEqual([1, [], []]);
  });

  it("counts the time of an owner that wrote nothing for a remaining timer, where it was closed in order", async () => {
    const { store } = place(kind);
    const clock = settableClock();
    await makeTimed(await openTimed(store, clock), "a", { type: "remaining" });
    for (const _ of [1, 2, 3]) {
      const engine = await openTimed(store, clock);
      await pass(clock, 3000);
      await engine.close();
      await pass(clock, DAY_MS);
    }
    const engine = await openTimed(store, clock);
    expect(fired(engine)).toEqual([]);
    await pass(clock, WAIT_MS - 9000);
    expect(fired(engine)).toHaveLength(1);
  });

  it.each(POLICIES)("again and again changes nothing of what an %s timer means", async (policy) => {
    const { store } = place(kind);
    const clock = settableClock();
    const startMs = clock.now();
    await makeTimed(await openTimed(store, clock), "a", { type: policy });
    for (let nth = 0; nth < 3; nth++) {
      await pass(clock, 2000);
      await openTimed(store, clock);
    }
    const engine = await openTimed(store, clock);
    for (let second = 0; second < 10; second++) await pass(clock, SECOND_MS);
    const dueMs = { absolute: WAIT_MS, remaining: 6000 + WAIT_MS, restart: 6000 + WAIT_MS }[policy];
    expect(fired(engine, startMs).map(([, , ms]) => ms)).toEqual([dueMs]);
  });

  it("fires what came due meanwhile in the order of its times, whoever set it first", async () => {
    const { store } = place(kind);
    const clock = settableClock();
    const first = await openTimed(store, clock);
    for (const [id, ms] of [["a", 3000], ["b", 1000], ["c", 2000], ["d", 1000]] as const) await makeTimed(first, id, { type: "given", ms }); // biome-ignore format: one row says it
    await first.close();
    await pass(clock, DAY_MS);
    const engine = await openTimed(store, clock);
    await flushed();
    expect(fired(engine).map(([actor]) => actor)).toEqual(["timed/b", "timed/d", "timed/c", "timed/a"]);
  });

  it("fires two of one actor that came due together in the order in which they were set", async () => {
    const { store } = place(kind);
    const clock = settableClock();
    const first = await openTimed(store, clock);
    await makeTimed(first, "a", { type: "both" });
    await first.close();
    await pass(clock, DAY_MS);
    const engine = await openTimed(store, clock);
    await flushed();
    expect(logOf(engine)).toEqual(["second", "first"].map((region) => `xstate.after.absolute.timed.both.${region}.on`));
  });
});

describe("who waits for timers", () => {
  const taken: Answer = { kind: "ignored" };

  /** Over timers that are due at these times, by their numbers; each that fires is noted, and its row ends as by a commit. */
  function waiting(dueMs: readonly number[], fails: (key: string) => Answer | undefined = () => undefined) {
    const store = memoryStore();
    const epoch = store.beginEpoch(0);
    const set = (key: string, at: number) => {
      const row = timerRow(key, { dueMs: at });
      store.write(epoch, (writer) => writer.putTimer(row));
      return row;
    };
    const end = (key: string) => store.write(epoch, (writer) => writer.deleteTimer(key));
    for (const [index, at] of dueMs.entries()) set(`${index}`, at);
    const clock = settableClock(0);
    const fired: [key: string, ms: number][] = [];
    const submit = async (work: Work): Promise<Answer> => {
      const key = work.kind === "timer" ? work.timer : "";
      fired.push([key, clock.now()]);
      const failed = fails(key);
      if (!failed) end(key);
      return failed ?? taken;
    };
    return { timers: new Timers({ reader: store, clock, submit }), clock, fired, set, end };
  }

  it("waits for the first, then for the next, and for nothing once there is none", async () => {
    const { timers, clock, fired } = waiting([1000, 400]);
    timers.open();
    for (const ms of [400, 600, DAY_MS]) await pass(clock, ms);
    expect([fired, clock.asked]).toEqual([
      [
        ["1", 400],
        ["0", 1000],
      ],
      [400, 600],
    ]);
  });

  it("fires what is due when it begins, without a wait", async () => {
    const { timers, clock, fired } = waiting([-5, 0]);
    timers.open();
    await flushed();
    expect([fired, clock.asked]).toEqual([
      [
        ["0", 0],
        ["1", 0],
      ],
      [],
    ]);
  });

  it("looks at the clock each minute", async () => {
    const { timers, clock, fired } = waiting([150_000]);
    timers.open();
    for (const ms of [60_000, 60_000, 30_000]) await pass(clock, ms);
    expect([fired, clock.asked]).toEqual([[["0", 150_000]], [60_000, 60_000, 30_000]]);
  });

  it("takes no notice before it begins, nor after its end, and begins once", async () => {
    const { timers, clock, fired, set } = waiting([]);
    timers.changed([set("early", 5)], false);
    expect(clock.asked).toEqual([]);
    timers.open();
    timers.open();
    expect(clock.asked).toEqual([5]);
    timers.close();
    timers.open();
    timers.changed([set("late", 1)], true);
    await pass(clock, DAY_MS);
    expect([fired, clock.asked]).toEqual([[], [5]]);
  });

  it("waits anew for one that is due before, and for no other", async () => {
    const { timers, clock, fired, set } = waiting([1000]);
    timers.open();
    timers.changed([set("later", 2000), set("same", 1000)], false);
    expect(clock.asked).toEqual([1000]);
    timers.changed([set("b", 700), set("a", 300), set("c", 900)], false);
    expect(clock.asked).toEqual([1000, 300]);
    for (const ms of [300, 400, 200, 100, 1000]) await pass(clock, ms);
    expect(fired.map(([key, ms]) => `${key} ${ms}`)).toEqual(["a 300", "b 700", "c 900", "0 1000", "same 1000", "later 2000"]);
  });

  it("waits for the next where the one that it waited for has ended, and for nothing where there is none", async () => {
    const { timers, clock, end } = waiting([1000, 5000]);
    timers.open();
    end("0");
    timers.changed([], true);
    await pass(clock, 1000);
    expect(clock.asked).toEqual([1000, 5000]);
    end("1");
    timers.changed([], true);
    timers.changed([], true);
    await pass(clock, DAY_MS);
    expect(clock.asked).toEqual([1000, 5000]);
  });

  it.each<[string, () => Answer]>([
    [
      "storage fails",
      () => {
        throw new Error("disk");
      },
    ],
    ["the root was lost", () => ({ kind: "refused", code: "not_owner", message: "" })],
  ])("tries again after a second where %s, and not before", async (_, fail) => {
    let isFailing = true;
    const { timers, clock, fired } = waiting([0], () => (isFailing ? fail() : undefined));
    timers.open();
    await flushed();
    await pass(clock, 999);
    expect(fired).toEqual([["0", 0]]);
    isFailing = false;
    await pass(clock, 1);
    expect([fired, clock.asked]).toEqual([
      [
        ["0", 0],
        ["0", 1000],
      ],
      [1000],
    ]);
  });

  it("tries again after a second also where one of several could not be fired, and leaves the others alone", async () => {
    let isFailing = true;
    const lost: Answer = { kind: "refused", code: "not_owner", message: "" };
    const { timers, clock, fired } = waiting([0, 0], (key) => (isFailing && key === "1" ? lost : undefined));
    timers.open();
    await flushed();
    await pass(clock, 999);
    isFailing = false;
    await pass(clock, 1);
    expect(fired.map(([key, ms]) => `${key} ${ms}`)).toEqual(["0 0", "1 0", "1 1000"]);
  });

  it("asks once for what it fires, also where an earlier wait ends meanwhile", async () => {
    const { timers, clock, fired } = waiting([1000], () => ({ kind: "refused", code: "not_owner", message: "" }));
    timers.open();
    clock.set(1000);
    timers.changed([], true);
    clock.advance(1000);
    await flushed();
    expect(fired).toEqual([["0", 1000]]);
  });

  it("leaves no wait behind at its end", () => {
    const { timers, clock } = waiting([1000]);
    timers.open();
    expect(clock.waiting).toBe(1);
    timers.close();
    expect(clock.waiting).toBe(0);
  });

  it("waits no time for one that is set and due already", async () => {
    const { timers, clock, fired, set } = waiting([]);
    timers.open();
    timers.changed([set("past", -5)], false);
    await pass(clock, 0);
    expect([fired, clock.asked]).toEqual([[["past", 0]], [0]]);
  });

  it("fires no more once it has ended, also between two pages", async () => {
    const { timers, fired, clock } = waiting(Array.from({ length: 501 }, () => 0));
    timers.open();
    timers.close();
    await flushed();
    await pass(clock, DAY_MS);
    expect([fired.length, clock.asked]).toEqual([500, []]);
  });
});

describe("a clock that is set while the engine runs", () => {
  it("forward, is noticed within a minute", async () => {
    const clock = settableClock();
    const engine = await openTimed(place().store, clock);
    await makeTimed(engine, "a", { type: "given", ms: DAY_MS });
    await pass(clock, SECOND_MS);
    clock.set(DAY_MS);
    await pass(clock, 59 * SECOND_MS);
    expect(logOf(engine).length).toBe(1);
  });

  it("back, makes an absolute timer wait until its time has come by the clock", async () => {
    const clock = settableClock();
    const engine = await openTimed(place().store, clock);
    const startMs = clock.now();
    await makeTimed(engine, "a", { type: "absolute" });
    await pass(clock, 5000);
    clock.set(-3_600_000);
    await pass(clock, 3_600_000 + 4999);
    expect(logOf(engine)).toEqual([]);
    await pass(clock, 1);
    expect(fired(engine, startMs)).toEqual([["timed/a", ABSOLUTE, WAIT_MS]]);
  });

  it("back between the look at what is due and its commit, makes it wait too", async () => {
    const clock = settableClock();
    const points = faultPoints();
    const engine = await openTimed(place().store, clock, { probe: points.probe });
    await makeTimed(engine, "a", { type: "absolute" });
    points.callAt("commit.before", () => clock.set(-SECOND_MS));
    await pass(clock, WAIT_MS);
    expect(logOf(engine)).toEqual([]);
    await pass(clock, SECOND_MS);
    expect(logOf(engine)).toEqual([ABSOLUTE]);
  });
});

describe("a long delay", () => {
  it("of 25 days, which is over 2^31 ms, is waited for in pieces that Node's timers can hold", async () => {
    const clock = settableClock();
    const engine = await openTimed(place().store, clock);
    const startMs = clock.now();
    await makeTimed(engine, "a", { type: "given", ms: 25 * DAY_MS });
    await pass(clock, 25 * DAY_MS - 1);
    expect(logOf(engine)).toEqual([]);
    await pass(clock, 1);
    expect(fired(engine, startMs).map(([, , ms]) => ms)).toEqual([25 * DAY_MS]);
    expect(Math.max(...clock.asked.slice(-1000))).toBeLessThan(2 ** 31);
  });

  it.each(STORES)("of ten years fires on its day, over a restart each year (%s)", async (kind) => {
    const { store } = place(kind);
    const clock = settableClock();
    const startMs = clock.now();
    const tenYearsMs = 3652 * DAY_MS;
    await makeTimed(await openTimed(store, clock), "a", { type: "given", ms: tenYearsMs });
    for (let year = 1; year < 10; year++) {
      const engine = await openTimed(store, clock);
      await flushed();
      expect(logOf(engine)).toEqual([]);
      await engine.close();
      clock.set(365 * DAY_MS);
    }
    const engine = await openTimed(store, clock);
    clock.set(startMs + tenYearsMs - clock.now() - 1);
    await pass(clock, 0);
    expect(logOf(engine)).toEqual([]);
    await pass(clock, 60_000);
    expect(fired(engine, startMs + tenYearsMs).map(([, , ms]) => ms < 60_000)).toEqual([true]);
    expect(Math.max(...clock.asked)).toBeLessThan(2 ** 31);
  });
});

describe.each(STORES)("a timer that is set while a later one is waited for (%s)", (kind) => {
  // Less than the longest wait without a look, which would find it as well.
  const LATER_MS = 4 * WAIT_MS;

  it("fires at its own time, and the later one at its", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    const startMs = clock.now();
    await makeTimed(engine, "later", { type: "given", ms: LATER_MS });
    await makeTimed(engine, "sooner", { type: "given", ms: SECOND_MS });
    await pass(clock, SECOND_MS - 1);
    expect(fired(engine)).toEqual([]);
    await pass(clock, 1);
    await pass(clock, LATER_MS - SECOND_MS);
    expect(fired(engine, startMs).map(([actor, , ms]) => [actor, ms])).toEqual([["timed/sooner", SECOND_MS], ["timed/later", LATER_MS]]); // biome-ignore format: one row says it
  });

  it("fires at its own time also where later ones are set in its commit", async () => {
    const clock = settableClock();
    const engine = await openTimed(place(kind).store, clock);
    const startMs = clock.now();
    const [first, second, third] = await Promise.all(["first", "second", "third"].map((id) => makeTimed(engine, id)));
    const set = (actor: typeof first, ms: number) => actor?.send({ type: "given", ms } as never);
    await Promise.all([set(first, LATER_MS), set(second, SECOND_MS), set(third, WAIT_MS)]);
    for (const ms of [SECOND_MS, WAIT_MS - SECOND_MS, LATER_MS - WAIT_MS]) await pass(clock, ms);
    expect(fired(engine, startMs).map(([actor, , ms]) => [actor, ms])).toEqual([["timed/second", SECOND_MS], ["timed/third", WAIT_MS], ["timed/first", LATER_MS]]); // biome-ignore format: one row says it
  });
});

describe.each(STORES)("what sets a timer (%s)", (kind) => {
  it.each(["NaN", "negative", "Infinity", "text", "nothing"])("by a delay that is %s fails, and nothing is written", async (invalid) => {
    const engine = await openTimed(place(kind).store, settableClock());
    const actor = await makeTimed(engine, "a");
    const error = await rejection(actor.send({ type: "invalid", kind: invalid } as never));
    expect(error).toMatchObject({ code: "machine_threw", message: expect.stringContaining("the delay invalid") });
    expect([actor.row().seq, actor.getSnapshot().value, engine.timers()]).toEqual([1, "idle", []]);
  });

  it("more than a thousand times for one actor fails, and nothing is written", async () => {
    const engine = await openTimed(place(kind).store, settableClock());
    const actor = await makeTimed(engine, "a", { type: "remind.many", count: 1000 });
    for (const event of [{ type: "remind.once" }, { type: "absolute" }])
      expect(await rejection(actor.send(event as never))).toMatchObject({
        code: "action_invalid",
        message: expect.stringContaining("1000"),
      });
    expect([actor.row().seq, engine.timers({}, { limit: 1000 }).length]).toEqual([2, 1000]);
    expect(engine.verify().faults).toEqual([]);
  });
});

describe.each(STORES)("many due timers (%s)", (kind) => {
  it("fire at most 500 in one commit, and other work gets in between", async () => {
    const { store } = place(kind);
    const clock = settableClock();
    const first = await openTimed(store, clock);
    for (const id of ["a", "b", "c"]) await makeTimed(first, id, { type: "remind.many", count: 400 });
    await first.close();
    await pass(clock, WAIT_MS);
    const sizes: number[] = [];
    const all = gate();
    const points = faultPoints();
    let noted: Promise<unknown> | undefined;
    points.callAt("commit.after", () => {
      noted = engine.get(timed, "a")?.send({ type: "note" });
    });
    const engine = await openTimed(store, clock, {
      probe: (point, subject) => {
        const byTime = (subject.entries ?? []).filter(({ cause }) => cause.includes('"timer"')).length;
        if (point === "commit.after" && byTime > 0 && sizes.push(byTime) === 3) all.open();
        points.probe(point, subject);
      },
    });
    await all.passed;
    await noted;
    expect(sizes).toEqual([500, 500, 200]);
    const entries = ["a", "b", "c"].flatMap((id) => engine.reader.journal(`timed/${id}`, { limit: 1000 }));
    const order = entries.sort((one, other) => one.position - other.position).slice(6);
    expect(order.findIndex(({ event }) => JSON.parse(event).type === "note")).toBeLessThan(1000);
    expect(engine.timers()).toEqual([]);
  });
});

describe.each(STORES)("a timer that cannot be fired (%s)", (kind) => {
  it("because its actor is in quarantine is parked, holds up no other, and fires once it is released", async () => {
    const { store } = place(kind);
    const clock = settableClock();
    const first = await openTimed(store, clock);
    await makeTimed(first, "a", { type: "absolute" });
    await makeTimed(first, "b", { type: "absolute" });
    await first.close();
    setAside(store, "timed/a");
    const engine = await openTimed(store, clock);
    await pass(clock, WAIT_MS);
    expect(fired(engine).map(([actor]) => actor)).toEqual(["timed/b"]);
    expect(engine.timers()).toMatchObject([{ actor: "timed/a", state: "parked" }]);
    expect(engine.verify().faults.map(({ code }) => code)).not.toContain("row_missing");
    await engine.release("timed/a");
    await pass(clock, 0);
    expect([fired(engine).length, logOf(engine), engine.timers(), engine.verify().faults]).toEqual([2, [ABSOLUTE], [], []]);
  });

  it("because its actor is in quarantine is tried once by each owner, and no more", async () => {
    const { store } = place(kind);
    const clock = settableClock();
    const first = await openTimed(store, clock);
    await makeTimed(first, "a", { type: "absolute" });
    await first.close();
    setAside(store, "timed/a");
    await pass(clock, WAIT_MS);
    const points = faultPoints();
    const engine = await openTimed(store, clock, { probe: points.probe });
    await flushed();
    expect([points.count("commit.before"), engine.timers()]).toMatchObject([1, [{ state: "parked" }]]);
    await pass(clock, DAY_MS);
    expect(points.count("commit.before")).toBe(1);
  });

  it("because its event makes its machine throw sets its actor aside, and no other (ACT-10)", async () => {
    const { store } = place(kind);
    const clock = settableClock();
    const engine = await openTimed(store, clock);
    await makeTimed(engine, "a", { type: "poisoned" });
    await makeTimed(engine, "b", { type: "absolute" });
    await pass(clock, WAIT_MS);
    expect(logOf(engine, "b")).toEqual([ABSOLUTE]);
    expect(engine.list({ quarantined: true })).toMatchObject([
      { address: "timed/a", seq: 2, quarantine: { code: "event_poisoned", source: "timed/a:2:0" } },
    ]);
    expect(engine.timers()).toMatchObject([{ key: "timed/a:2:0", state: "parked" }]);
    const points = faultPoints();
    const next = await openTimed(store, clock, { probe: points.probe });
    await flushed();
    expect([points.count("commit.before"), next.timers()]).toMatchObject([1, [{ state: "parked" }]]);
  });

  it("because storage fails is tried again, and fires once", async () => {
    const clock = settableClock();
    const points = faultPoints();
    const engine = await openTimed(place(kind).store, clock, { probe: points.probe });
    const startMs = clock.now();
    await makeTimed(engine, "a", { type: "absolute" });
    points.throwAt("commit.inside", new Error("disk"));
    await pass(clock, WAIT_MS);
    expect([fired(engine), engine.timers().length]).toEqual([[], 1]);
    await pass(clock, SECOND_MS);
    expect(fired(engine, startMs)).toEqual([["timed/a", ABSOLUTE, WAIT_MS + SECOND_MS]]);
  });

  it.each(["nextDueMs", "dueTimers"] as const)("because %s cannot be read is tried again, and fires once", async (read) => {
    const clock = settableClock();
    let isBroken = false;
    const store = new Proxy(place(kind).store, {
      get(target, name) {
        if (isBroken && name === read)
          return () => {
            throw new Error("disk");
          };
        const value = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const engine = await openTimed(store, clock);
    const startMs = clock.now();
    await makeTimed(engine, "a", { type: "absolute" });
    isBroken = true;
    await pass(clock, WAIT_MS);
    await pass(clock, SECOND_MS);
    isBroken = false;
    await pass(clock, SECOND_MS - 1);
    expect([fired(engine), engine.timers().length]).toEqual([[], 1]);
    await pass(clock, 1);
    expect(fired(engine, startMs)).toEqual([["timed/a", ABSOLUTE, WAIT_MS + 2 * SECOND_MS]]);
  });

  it("because its actor has ended, or its row is no timer of its actor's, holds up no other and is not tried without end (ACT-10)", async () => {
    const { store } = place(kind);
    const clock = settableClock();
    const first = await openTimed(store, clock);
    await makeTimed(first, "ended", { type: "end" });
    await makeTimed(first, "a", { type: "absolute" });
    const [row] = first.timers();
    await first.close();
    store.write(store.epoch(), (writer) => {
      if (!row) throw new Error("no timer");
      for (const actor of ["timed/ended", "timed/none", "stranger/a"]) writer.putTimer({ ...row, key: `${actor}:9:0`, actor });
      writer.putTimer({ ...row, key: "timed/a:9:9", id: "", event: "no JSON" });
    });
    const points = faultPoints();
    await pass(clock, WAIT_MS);
    const engine = await openTimed(store, clock, { probe: points.probe });
    await makeTimed(engine, "b", { type: "absolute" });
    await pass(clock, WAIT_MS);
    const commits = points.count("commit.before");
    await pass(clock, 3_600_000);
    expect([logOf(engine, "b"), points.count("commit.before") - commits]).toEqual([[ABSOLUTE], 0]);
    expect(engine.timers().map(({ key, state }) => [key, state])).toEqual([
      ["timed/ended:9:0", "parked"],
      ["timed/none:9:0", "parked"],
      ["stranger/a:9:0", "parked"],
      ["timed/a:9:9", "parked"],
    ]);
    expect(engine.list({ quarantined: true })).toMatchObject([{ address: "timed/a", quarantine: { source: "timed/a:9:9" } }]);
  });

  it("because the engine is closing is left to the next owner", async () => {
    const { store } = place(kind);
    const clock = settableClock();
    const first = await openTimed(store, clock);
    await makeTimed(first, "a", { type: "absolute" });
    await first.close();
    await pass(clock, WAIT_MS);
    expect(store.timers({}, { limit: 10 }).length).toBe(1);
    const second = await openTimed(store, clock);
    await flushed();
    expect(fired(second).length).toBe(1);
  });
});

it.each([
  ["a timer that is missing", "DELETE FROM timers WHERE key = 'timed/a:2:0'", "row_missing", "timed/a:2:0"],
  [
    "a timer that is due at another time",
    "UPDATE timers SET due_ms = due_ms + 1 WHERE key = 'timed/a:2:0'",
    "journal_damaged",
    "timed/a:2:0",
  ],
  ["a timer with another event", "UPDATE timers SET event = '{}' WHERE key = 'timed/a:2:0'", "journal_damaged", "timed/a:2:0"],
  ["a timer with another policy", "UPDATE timers SET policy = 'restart' WHERE key = 'timed/a:2:0'", "journal_damaged", "timed/a:2:0"],
  ["a timer that nobody set", "UPDATE timers SET actor = 'timed/b' WHERE key = 'timed/a:2:0'", "row_unexpected", "timed/a:2:0"],
])("verify() finds %s, and nothing else (ACT-4)", async (_, sql, code, key) => {
  const { store, file } = place("sqlite");
  const clock = settableClock();
  const engine = await openTimed(store, clock);
  await makeTimed(engine, "a", { type: "absolute" });
  await makeTimed(engine, "b", { type: "remaining" });
  await pass(clock, SECOND_MS);
  expect(engine.verify().faults).toEqual([]);
  const other = new Database(file);
  other.exec(sql);
  other.close();
  expect(engine.verify().faults.filter((fault) => fault.code === code && fault.message.includes(key)).length).toBe(1);
  expect(engine.verify().faults.length).toBe(sql.includes("actor =") ? 2 : 1);
});

it.each([
  ["inside the commit", "commit.inside", 0],
  ["after the commit", "commit.after", 1],
] as const)(
  "a process that is killed %s of a timer leaves it to fire once",
  async (_, point, already) => {
    const root = join(temporary(), "root");
    const end = await runChild(new URL("./timer.child.ts", import.meta.url), [root, point]);
    expect([end.signal, end.stderr]).toEqual(["SIGKILL", ""]);
    const clock = settableClock();
    clock.advance(DAY_MS);
    await using engine = await openActors({ root, machines: [timed], clock });
    expect(fired(engine).length).toBe(already);
    await flushed();
    await pass(clock, DAY_MS);
    expect([fired(engine).length, engine.timers(), engine.verify().faults]).toEqual([1, [], []]);
  },
  180_000,
);

it.each(STORES)("timers of one actor fire while another is busy with effects and events of its own (%s)", async (kind) => {
  const clock = settableClock();
  const engine = await open(place(kind).store, { machines: [timed], clock });
  const [a, b] = [await makeTimed(engine, "a", { type: "absolute" }), await makeTimed(engine, "b")];
  clock.advance(WAIT_MS);
  await Promise.all([...Array(50).keys()].map(() => b.send({ type: "note" })));
  await flushed();
  expect([a.getSnapshot().context.log, b.getSnapshot().context.log.length]).toEqual([[ABSOLUTE], 50]);
});
