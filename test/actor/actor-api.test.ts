import { describe, expect, it } from "vitest";
import { assign } from "xstate";
import { z } from "zod";
import type { Engine } from "../../src/actor/engine.ts";
import type { Entry } from "../../src/actor/feed.ts";
import { counter, gate, journal, make, open, place, rejection, STORES } from "./counter.ts";
import { flushed, held } from "./held.ts";
import { nothing, thing } from "./thing.ts";
import { openTimed, settableClock, timed } from "./timed.ts";

/** Has tags and nested states, and counts in a guard how often it was asked. */
const tagged = thing(
  {
    id: "tagged",
    initial: "open",
    context: { n: 0 },
    on: { reach: { guard: "isReached", actions: "count" }, noop: {}, explode: { guard: "throws", target: ".shut" } },
    states: {
      open: {
        tags: ["visible"],
        initial: "wide",
        states: { wide: { on: { go: "narrow" } }, narrow: { tags: ["tight"] } },
        on: { shut: "shut" },
      },
      shut: { on: { end: "ended" } },
      ended: { type: "final" },
    },
  },
  {
    schemas: {
      context: z.strictObject({ n: z.int() }),
      events: { ...{ go: nothing, shut: nothing, end: nothing, noop: nothing, explode: nothing }, reach: z.strictObject({ n: z.int() }) },
    },
    actions: { count: assign({ n: ({ event }: any) => event.n }) },
    guards: {
      isReached: ({ event }: any) => event.n > 3 && event.stamp.seq > 0,
      throws: () => {
        throw new Error("guard");
      },
    },
  },
);

async function openTagged(kind: (typeof STORES)[number]) {
  const engine = await open(place(kind).store, { machines: [tagged] });
  return { engine, actor: await engine.create(tagged, "a", { input: {} }) };
}

/** Sets an actor aside, as the engine does when it is told something that it cannot take. */
async function poison(engine: Engine, address: string): Promise<void> {
  const teller = await make(engine, "teller");
  await teller.send({ type: "count.say", to: address, event: { type: "assign.throw" } });
}

/** The next warning of the process. */
const warning = () =>
  new Promise<Error>((resolve) => {
    process.once("warning", resolve);
  });

describe.each(STORES)("can() (%s)", (kind) => {
  it.each<[boolean, string, { type: string; [key: string]: unknown }]>([
    [true, "an event that its state declares", { type: "go" }],
    [true, "an event whose guard says yes", { type: "reach", n: 4 }],
    [false, "an event whose guard says no", { type: "reach", n: 3 }],
    [false, "an event that another state declares", { type: "end" }],
    [false, "an event that nobody declares", { type: "unheard" }],
    [false, "an event that is declared to do nothing", { type: "noop" }],
    [false, "a payload that does not fit", { type: "reach", n: "four" }],
    [false, "a payload with more than fits", { type: "go", more: 1 }],
    [false, "an event that only the engine makes", { type: "xstate.stop" }],
    [false, "no event at all", undefined as never],
  ])("is %s for %s, and says what send() would do", async (expected, _, event) => {
    const { actor } = await openTagged(kind);
    expect(actor.can(event)).toBe(expected);
    expect(actor.row().seq).toBe(1);
    expect((await actor.send(event)).kind === "accepted").toBe(expected);
  });

  it("throws machine_threw where a guard throws, as send() rejects", async () => {
    const { actor } = await openTagged(kind);
    expect(() => actor.can({ type: "explode" })).toThrow(expect.objectContaining({ code: "machine_threw" }));
    expect(await rejection(actor.send({ type: "explode" }))).toMatchObject({ code: "machine_threw" });
  });

  it("is false for everything once the actor is final, stopped or set aside", async () => {
    const engine = await open(place(kind).store);
    const [ended, stopped, aside] = [await make(engine, "a"), await make(engine, "b"), await make(engine, "c")];
    await ended.send({ type: "count.end" });
    await stopped.stop();
    await poison(engine, "counter/c");
    for (const actor of [ended, stopped, aside]) expect(actor.can({ type: "count.add", by: 1 })).toBe(false);
  });
});

describe.each(STORES)("what a handle says of its actor (%s)", (kind) => {
  it("follows its commits: matches(), hasTag(), getSnapshot()", async () => {
    const { engine, actor } = await openTagged(kind);
    const other = engine.get(tagged, "a");
    const said = () => [
      other?.matches("open"),
      other?.matches({ open: "narrow" } as never),
      other?.hasTag("visible"),
      other?.hasTag("tight"),
    ];
    expect(said()).toEqual([true, false, true, false]);
    await actor.send({ type: "go" });
    expect(said()).toEqual([true, true, true, true]);
    await actor.send({ type: "shut" });
    expect(said()).toEqual([false, false, false, false]);
    await actor.send({ type: "end" });
    expect([other?.matches("ended"), other?.getSnapshot().status]).toEqual([true, "done"]);
  });

  it("is waited for by waitFor(), until its signal says otherwise; the others wait on", async () => {
    const { actor } = await openTagged(kind);
    const controller = new AbortController();
    const given = rejection(actor.waitFor((snapshot) => snapshot.matches("shut"), { signal: controller.signal }));
    const waiting = actor.waitFor((snapshot) => snapshot.matches("shut"), { signal: new AbortController().signal });
    controller.abort(new Error("enough"));
    expect(await given).toMatchObject({ message: "enough" });
    await actor.send({ type: "shut" });
    expect((await waiting).value).toBe("shut");
  });
});

describe.each(STORES)("subscribe() (%s)", (kind) => {
  it("gives the snapshot of each commit, then says that the actor has ended", async () => {
    const actor = await make(await open(place(kind).store));
    const heard: unknown[] = [];
    actor.subscribe({
      next: (snapshot) => heard.push([snapshot.value, snapshot.context.count]),
      complete: () => heard.push("complete"),
      error: (error) => heard.push(error),
    });
    for (const by of [1, 2]) await actor.send({ type: "count.add", by });
    await actor.send({ type: "never.taken" });
    await actor.send({ type: "count.end" });
    expect(heard).toEqual([["idle", 1], ["idle", 3], ["ended", 3], "complete"]);
  });

  it("gives nothing after unsubscribe(), also where that is called from within", async () => {
    const actor = await make(await open(place(kind).store));
    const heard: number[] = [];
    const outside = actor.subscribe(() => heard.push(1));
    const within = actor.subscribe(() => {
      heard.push(2);
      within.unsubscribe();
    });
    await actor.send({ type: "count.add", by: 1 });
    outside.unsubscribe();
    outside.unsubscribe();
    await actor.send({ type: "count.add", by: 1 });
    expect(heard).toEqual([1, 2]);
  });

  it("gives nothing more to who unsubscribes within its last snapshot, nor for partial output", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const heard: unknown[] = [];
    const subscription = actor.subscribe({
      next: (snapshot) => {
        heard.push(snapshot.value);
        subscription.unsubscribe();
      },
      complete: () => heard.push("complete"),
    });
    engine.feed.publish(actor.address, { kind: "progress", output: 1 });
    await actor.send({ type: "count.end" });
    expect(heard).toEqual(["ended"]);
  });

  it("leaves nothing behind in the feed, whichever way it ends", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    actor.subscribe({}).unsubscribe();
    expect(engine.feed.watched()).toBe(0);
    actor.subscribe({});
    expect(engine.feed.watched()).toBe(1);
    await actor.send({ type: "count.end" });
    expect(engine.feed.watched()).toBe(0);
  });

  it("says one thing of a final actor whose engine is closed", async () => {
    const { store } = place(kind);
    const engine = await open(store);
    const actor = await make(engine);
    await actor.stop();
    await engine.close();
    const heard: unknown[] = [];
    actor.subscribe({ complete: () => heard.push("complete"), error: (error: any) => heard.push(error.code) });
    expect(heard).toEqual(["closed"]);
  });

  it("says at once that the actor has ended, where it has", async () => {
    const actor = await make(await open(place(kind).store));
    await actor.stop();
    const heard: unknown[] = [];
    actor.subscribe({ next: () => heard.push("next"), complete: () => heard.push("complete"), error: (error) => heard.push(error) });
    expect(heard).toEqual(["complete"]);
  });

  it("ends with actor_quarantined when the actor is set aside, and at once where it was", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const heard: unknown[] = [];
    const observer = {
      next: () => heard.push("next"),
      complete: () => heard.push("complete"),
      error: (error: any) => heard.push(error.code),
    };
    actor.subscribe(observer);
    await poison(engine, actor.address);
    expect(heard).toEqual(["actor_quarantined"]);
    actor.subscribe(observer);
    expect(heard).toEqual(["actor_quarantined", "actor_quarantined"]);
  });

  it("ends with closed when the engine closes, once, and at once where it has", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const heard: unknown[] = [];
    actor.subscribe({ error: (error: any) => heard.push(error.code) });
    await engine.close();
    actor.subscribe({ error: (error: any) => heard.push(error.code) });
    expect(heard).toEqual(["closed", "closed"]);
  });

  it.each<[string, Error]>([
    ["an error", new Error("observer")],
    ["an error of the engine's kind", Object.assign(new Error("observer"), { code: "actor_not_found" })],
  ])("warns of an observer that throws %s, and goes on with it and with all others", async (_, thrown) => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const heard: unknown[] = [];
    const warned = warning();
    actor.subscribe({
      next: () => {
        heard.push("first");
        throw thrown;
      },
      complete: () => heard.push("complete"),
      error: () => heard.push("error"),
    });
    actor.subscribe(() => heard.push("second"));
    expect(await actor.send({ type: "count.add", by: 1 })).toMatchObject({ kind: "accepted" });
    await actor.send({ type: "count.end" });
    expect((await warned).message).toContain("observer");
    expect(heard).toEqual(["first", "second", "first", "complete", "second"]);
  });

  it("takes what an observer throws for its own, also where it read another actor in vain", async () => {
    const engine = await open(place(kind).store);
    const [actor, other] = [await make(engine, "a"), await make(engine, "b")];
    await other.stop();
    await actor.send({ type: "count.add", by: 1 });
    await other.delete();
    const heard: unknown[] = [];
    const warned = warning();
    actor.subscribe({
      next: () => heard.push(other.getSnapshot()),
      error: (error) => heard.push(error),
      complete: () => heard.push("complete"),
    });
    await actor.send({ type: "count.add", by: 1 });
    await actor.send({ type: "count.end" });
    await warned;
    expect(heard).toEqual(["complete"]);
  });
});

describe.each(STORES)("on() (%s)", (kind) => {
  it("gives the facts of its type, each once, in order, after their commit", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const heard: unknown[] = [];
    const { unsubscribe } = actor.on("count.changed", (fact) => heard.push([fact.count, actor.getSnapshot().context.count]));
    await Promise.all([1, 2].map((by) => actor.send({ type: "count.add", by })));
    await actor.send({ type: "count.say", to: "counter/none", event: { type: "count.added", by: 1 } });
    unsubscribe();
    await actor.send({ type: "count.add", by: 1 });
    // Both were one commit.
    expect(heard).toEqual([[1, 3], [3, 3]]); // biome-ignore format: one row says it
  });

  it("gives all facts for '*', and none for a type that nobody states", async () => {
    const actor = await make(await open(place(kind).store));
    const heard: unknown[] = [];
    const unheard: unknown[] = [];
    actor.on("*", (fact) => heard.push(fact));
    actor.on("count.unheard" as never, (fact) => unheard.push(fact));
    await actor.send({ type: "count.add", by: 5 });
    expect([heard, unheard]).toEqual([[{ type: "count.changed", count: 5 }], []]);
  });

  it("warns of a listener that throws, and gives it the next fact all the same", async () => {
    const actor = await make(await open(place(kind).store));
    const heard: number[] = [];
    const warned = warning();
    actor.on("count.changed", ({ count }) => {
      heard.push(count);
      throw new Error("listener");
    });
    await Promise.all([1, 1].map((by) => actor.send({ type: "count.add", by })));
    expect((await warned).message).toBe("listener");
    expect(heard).toEqual([1, 2]);
  });
});

describe.each(STORES)("watch() (%s)", (kind) => {
  it("goes on where another process's left off, and misses nothing", async () => {
    const { store } = place(kind);
    const first = await open(store);
    const actor = await make(first);
    await actor.send({ type: "count.add", by: 1 });
    const seen: number[] = [];
    for await (const { seq } of actor.watch()) if (seen.push(seq) === 2) break;
    await actor.send({ type: "count.add", by: 2 });
    await first.close();
    const second = await open(store);
    const watching = (async () => {
      for await (const { seq } of second.get(counter, "a")?.watch({ after: seen.at(-1) ?? 0 }) ?? []) seen.push(seq);
    })();
    await second.get(counter, "a")?.send({ type: "count.end" });
    await watching;
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });
});

describe.each(STORES)("stop() (%s)", (kind) => {
  it("ends the actor with its effects, whatever its state", async () => {
    const work = held();
    const engine = await open(place(kind).store, { effects: { work: work.handler } });
    const actor = await make(engine);
    await actor.send({ type: "work.start", by: 1 });
    const { call } = await work.called(1);
    await actor.stop();
    expect([call.signal.aborted, engine.effects(), actor.row().status, actor.getSnapshot().status]).toEqual([true, [], "final", "stopped"]);
    expect(journal(engine).at(-1)).toMatchObject({ event: { type: "xstate.stop" }, cause: { kind: "engine" } });
    expect([await actor.send({ type: "count.add", by: 1 }), engine.verify().faults]).toMatchObject([
      { kind: "refused", code: "actor_final" },
      [],
    ]);
  });

  it("ends it with its timers", async () => {
    const engine = await openTimed(place(kind).store, settableClock());
    const actor = await engine.create(timed, "a", { input: {} });
    await actor.send({ type: "absolute" } as never);
    await actor.stop();
    expect([engine.timers(), engine.verify().faults]).toEqual([[], []]);
  });

  it("is what the next owner finds, and nothing is told or started", async () => {
    const { store } = place(kind);
    const first = await open(store, { effects: { work: () => new Promise(() => {}) } });
    const actor = await make(first);
    await actor.send({ type: "work.start", by: 1 });
    await actor.stop();
    await first.close();
    const second = await open(store);
    expect([second.get(counter, "a")?.row().seq, second.get(counter, "a")?.matches("working")]).toEqual([3, true]);
    expect(await rejection(second.get(counter, "a")?.stop() ?? Promise.resolve())).toMatchObject({ code: "actor_final" });
  });

  it("is refused for an actor that is set aside, and for one that is not there", async () => {
    const engine = await open(place(kind).store);
    const [aside, gone] = [await make(engine, "a"), await make(engine, "b")];
    await gone.stop();
    await poison(engine, aside.address);
    await gone.delete();
    expect(await rejection(aside.stop())).toMatchObject({ code: "actor_quarantined" });
    expect(await rejection(gone.stop())).toMatchObject({ code: "actor_not_found" });
  });
});

describe.each(STORES)("delete() (%s)", (kind) => {
  /** A final actor, with an entry of another behind its last. */
  async function final(engine: Engine, id = "a") {
    const actor = await make(engine, id);
    await actor.send({ type: "count.add", by: 1 }, { key: "k" });
    await actor.send({ type: "count.end" });
    await make(engine, `after-${id}`);
    return actor;
  }

  it("removes the actor with its journal and its answers, and the rest of the root stays whole", async () => {
    const { store } = place(kind);
    const engine = await open(store);
    const actor = await final(engine);
    await actor.delete();
    expect([engine.get(counter, "a"), store.journal("counter/a", { limit: 10 }), store.answer("counter/a", "k")]).toEqual([
      undefined,
      [],
      undefined,
    ]);
    expect(store.tombstone("counter/a")).toMatchObject({ address: "counter/a", state: "ended", seq: 3 });
    expect(() => actor.getSnapshot()).toThrow(expect.objectContaining({ code: "actor_not_found" }));
    expect(await actor.send({ type: "count.add", by: 1 })).toMatchObject({ kind: "refused", code: "actor_not_found" });
    await engine.close();
    const second = await open(store);
    expect(second.verify().faults).toEqual([]);
  });

  it("works also for the actor that wrote last, and no position is given out again", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    await actor.stop();
    await actor.delete();
    const [entry] = (await make(engine, "b").then(() => engine.reader.entries({ limit: 10 }))) ?? [];
    expect([entry?.position, engine.verify().faults]).toEqual([3, []]);
  });

  it("gives its id to nobody again: not to create(), nor to another machine's createActor", async () => {
    const engine = await open(place(kind).store);
    const actor = await final(engine);
    await actor.delete();
    expect(await rejection(make(engine))).toMatchObject({ code: "actor_deleted" });
    const other = await make(engine, "other");
    const create = { type: "count.create", id: "a", start: 0, keys: [] as string[] } as const;
    expect(await rejection(other.send(create))).toMatchObject({ code: "identity_taken", message: expect.stringContaining("was deleted") });
    expect([other.row().seq, engine.get(counter, "a"), engine.verify().faults]).toEqual([1, undefined, []]);
  });

  it("gives its id to nobody, also where that is asked for in the same moment", async () => {
    const engine = await open(place(kind).store);
    const actor = await final(engine);
    const asked = await Promise.allSettled([actor.delete(), make(engine), actor.delete(), actor.send({ type: "count.add", by: 1 })]);
    expect(asked).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "actor_deleted" } },
      { status: "rejected", reason: { code: "actor_not_found" } },
      { status: "fulfilled", value: { kind: "refused" } },
    ]);
    expect(engine.verify().faults).toEqual([]);
  });

  it("makes a dead letter of what is delivered to it afterwards", async () => {
    const engine = await open(place(kind).store);
    await (await final(engine)).delete();
    await (await make(engine, "other")).send({ type: "count.tell", to: "counter/a", by: 1 });
    expect([engine.deadLetters(), engine.verify().faults]).toMatchObject([[{ receiver: "counter/a", reason: "actor_not_found" }], []]);
  });

  it("ends who is still reading, and who subscribes", async () => {
    const engine = await open(place(kind).store);
    const actor = await final(engine);
    const [seen, seventh] = [[] as Entry[], gate()];
    const watching = (async () => {
      for await (const entry of actor.watch()) {
        if (seen.push(entry) === 1) await seventh.passed;
      }
    })();
    await flushed();
    const waiting = rejection(actor.waitFor(({ context }) => context.count === 9));
    await actor.delete();
    seventh.open();
    await watching;
    expect([seen.length > 0, (await waiting).code]).toEqual([true, "actor_final"]);
    const heard: unknown[] = [];
    actor.subscribe({ error: (error: any) => heard.push(error.code) });
    expect([heard, await rejection(actor.watch().next())]).toMatchObject([["actor_not_found"], { code: "actor_not_found" }]);
  });

  it("is refused for an actor that has not ended, that is set aside, or that is not there", async () => {
    const engine = await open(place(kind).store);
    const [live, aside] = [await make(engine, "a"), await make(engine, "b")];
    await poison(engine, aside.address);
    expect(await rejection(live.delete())).toMatchObject({ code: "actor_not_final" });
    expect(await rejection(aside.delete())).toMatchObject({ code: "actor_quarantined" });
    const gone = await final(engine, "c");
    await gone.delete();
    expect(await rejection(gone.delete())).toMatchObject({ code: "actor_not_found" });
  });
});
