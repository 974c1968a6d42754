import { getEventListeners } from "node:events";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { engineError } from "../../src/actor/error.ts";
import { Feed, harmless, type Signal, type Watched, watch } from "../../src/actor/feed.ts";
import type { ActorRow } from "../../src/actor/store.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { actorRow, appendRow, entryRow } from "../../src/testing/store-row.ts";
import { gate, make, open, place, rejection, STORES } from "./counter.ts";
import { flushed } from "./held.ts";

/** All that an iteration gives. */
async function all<T>(iteration: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of iteration) found.push(item);
  return found;
}

describe.each(STORES)("a watcher (%s)", (kind) => {
  it("gets each committed entry once, in order, and ends with the actor's last", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    await actor.send({ type: "count.add", by: 1 });
    const watched = all(actor.watch());
    await actor.send({ type: "count.add", by: 2 });
    await actor.send({ type: "count.end" });
    expect((await watched).map(({ seq, event }) => [seq, event.type])).toEqual([
      [1, "xstate.init"],
      [2, "count.add"],
      [3, "count.add"],
      [4, "count.end"],
    ]);
  });

  it("starts behind its cursor", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    for (const by of [1, 2, 3]) await actor.send({ type: "count.add", by });
    await actor.send({ type: "count.end" });
    expect((await all(actor.watch({ after: 3 }))).map(({ seq }) => seq)).toEqual([4, 5]);
    expect(await all(actor.watch({ after: 5 }))).toEqual([]);
  });

  it("loses nothing while it is slow, over more than a page", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const seqs: number[] = [];
    const watching = (async () => {
      for await (const { seq } of actor.watch()) {
        seqs.push(seq);
        if (seq % 50 === 0) await actor.send({ type: "count.add", by: 1 });
      }
    })();
    await Promise.all([...Array(500).keys()].map((by) => actor.send({ type: "count.add", by })));
    await actor.send({ type: "count.end" });
    await watching;
    expect(seqs).toEqual([...Array(actor.row().seq).keys()].map((index) => index + 1));
  });

  it("has entries with their facts and requests", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    await actor.send({ type: "count.tell", to: "counter/none", by: 1 });
    await actor.send({ type: "count.add", by: 1 });
    await actor.send({ type: "count.end" });
    const [, told, added] = await all(actor.watch());
    expect(told?.actions).toEqual([{ type: "deliver", to: "counter/none", event: { type: "count.added", by: 1 } }]);
    expect(added?.facts).toEqual([{ type: "count.changed", count: 2 }]);
  });

  it("is one of any number, each with its own pace and end", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const first = (async () => {
      for await (const entry of actor.watch()) return entry.seq;
    })();
    const others = [actor.watch(), actor.watch({ after: 1 })].map(all);
    await actor.send({ type: "count.add", by: 1 });
    await actor.send({ type: "count.end" });
    expect(await first).toBe(1);
    expect((await Promise.all(others)).map((entries) => entries.length)).toEqual([3, 2]);
  });

  it("ends with the reason of its signal", async () => {
    const actor = await make(await open(place(kind).store));
    const controller = new AbortController();
    const watching = rejection(all(actor.watch({ signal: controller.signal })));
    controller.abort(new Error("enough"));
    expect(await watching).toMatchObject({ message: "enough" });
  });

  it("ends when the engine closes, also one that begins later", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const watching = all(actor.watch());
    await actor.send({ type: "count.add", by: 1 });
    await engine.close();
    expect((await watching).length).toBeLessThanOrEqual(2);
    expect(await all(actor.watch())).toEqual([]);
  });

  it("ends after the last entry of an actor that is set aside", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const watching = all(actor.watch());
    await actor.send({ type: "poison.start" });
    expect((await watching).map(({ event }) => event.type)).toEqual(["xstate.init", "poison.start"]);
  });

  it("of nobody is refused", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    Object.defineProperty(actor, "address", { value: "counter/none" });
    expect(await rejection(all(actor.watch()))).toMatchObject({ code: "actor_not_found", details: { actor: "counter/none" } });
  });

  it("gets partial output after the entry that started it and before what came of it", async () => {
    const release = gate();
    const engine = await open(place(kind).store, {
      effects: {
        work: async ({ progress }) => {
          progress("half");
          await release.passed;
          progress("whole");
          return { by: 1 };
        },
      },
    });
    const actor = await make(engine);
    const seen: string[] = [];
    const watching = (async () => {
      for await (const watched of actor.watchAll()) {
        seen.push(labelOf(watched));
        if (labelOf(watched) === "half") release.open();
      }
    })();
    await actor.send({ type: "work.start", by: 1 });
    await actor.waitFor((snapshot) => snapshot.matches("idle"));
    await actor.send({ type: "count.end" });
    await watching;
    expect(seen).toEqual(["xstate.init", "work.start", "half", "whole", "work.done", "count.end"]);
  });

  it("leaves nothing behind in the feed", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    let calls = 0;
    const unsubscribe = actor.onProgress(() => {
      calls++;
    });
    unsubscribe();
    engine.feed.publish(actor.address, { kind: "progress", output: 1 });
    for await (const _ of actor.watch()) break;
    await actor.waitFor(() => true);
    expect([calls, engine.feed.watched()]).toEqual([0, 0]);
  });
});

const labelOf = (watched: Watched): string =>
  watched.kind === "entry" ? watched.entry.event.type : watched.kind === "progress" ? String(watched.output) : watched.kind;

const progress = (output: number) => ({ kind: "progress", output }) as const;

describe("a feed", () => {
  /** Hears of one actor, and notes it. */
  function hearing(feed: Feed, actor = "m/a") {
    const heard: Signal[] = [];
    const end = feed.subscribe(actor, (signal) => void heard.push(signal));
    return { heard, end };
  }

  it("counts each subscription, also of one function twice", () => {
    const feed = new Feed();
    const heard: Signal[] = [];
    const listener = (signal: Signal) => void heard.push(signal);
    const [first, second] = [feed.subscribe("m/a", listener), feed.subscribe("m/a", listener)];
    feed.publish("m/a", progress(1));
    first();
    feed.publish("m/a", progress(2));
    expect([heard, feed.watched()]).toEqual([[progress(1), progress(1), progress(2)], 1]);
    second();
    expect(feed.watched()).toBe(0);
  });

  it("tells only those who listen to the actor", () => {
    const feed = new Feed();
    const [a, b] = [hearing(feed, "m/a"), hearing(feed, "m/b")];
    feed.publish("m/a", progress(1));
    feed.publish("m/c", progress(2));
    expect([a.heard, b.heard, feed.watched()]).toEqual([[progress(1)], [], 2]);
  });

  it("takes no notice of a second end: who came after it hears on", () => {
    const feed = new Feed();
    const first = hearing(feed);
    first.end();
    const second = hearing(feed);
    first.end();
    feed.publish("m/a", progress(1));
    expect(second.heard).toEqual([progress(1)]);
  });

  it("tells of a commit once, by all its entries of the actor, and of one that only changed it", () => {
    const feed = new Feed();
    const [a, b, c] = [hearing(feed, "m/a"), hearing(feed, "m/b"), hearing(feed, "m/c")];
    const [one, two, other] = [entryRow("m/a", 1), entryRow("m/a", 2), entryRow("m/b", 7)];
    feed.committed([one, other, two], ["m/b", "m/c"]);
    expect([a.heard, b.heard, c.heard]).toEqual([
      [{ kind: "committed", seq: 2, entries: [one, two] }],
      [{ kind: "committed", seq: 7, entries: [other] }],
      [{ kind: "committed", seq: 0, entries: [] }],
    ]);
  });

  it("says once that it is closed, by the first reason, also to who comes later, and nothing after", () => {
    const feed = new Feed();
    const early = hearing(feed);
    const error = engineError("not_owner", "lost");
    feed.close(error);
    feed.close();
    feed.publish("m/a", progress(1));
    const late = hearing(feed);
    late.end();
    expect([early.heard, late.heard, feed.watched()]).toEqual([[{ kind: "closed", error }], [{ kind: "closed", error }], 0]);
  });

  it("gives no reason for an orderly close", () => {
    const feed = new Feed();
    const { heard } = hearing(feed);
    feed.close();
    expect(heard).toEqual([{ kind: "closed" }]);
    expect("error" in (heard[0] ?? {})).toBe(false);
  });

  it.each<[string, unknown, string]>([
    ["an error", new Error("listener"), "listener"],
    ["what is no error", { message: "listener" }, "listener"],
  ])("warns of a listener that throws %s", async (_, thrown, message) => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    harmless(() => {
      throw thrown;
    });
    const [said] = warned.mock.calls.at(-1) ?? [];
    expect(said instanceof Error ? said.message : said).toBe(message);
  });
});

describe("who watches an actor without its engine", () => {
  /** Has read the only entry of an actor, and waits for the next. */
  async function watching({ seq = 1, after = 0, signal }: { seq?: number; after?: number; signal?: AbortSignal } = {}) {
    const store = memoryStore();
    const epoch = store.beginEpoch(0);
    const append = (from: number, to: number) =>
      store.write(epoch, (writer) => {
        writer.putActor(actorRow("m/a", { seq: to }));
        return Array.from({ length: to - from + 1 }, (_, index) => {
          const row = entryRow("m/a", from + index);
          appendRow(writer, row);
          return row;
        });
      });
    append(1, seq);
    const feed = new Feed();
    const iteration = watch(store, feed, "m/a", { after, ...(signal ? { signal } : {}) });
    /** What the next ones are: seqs of entries, and outputs as texts. */
    const next = async (count: number) => {
      const seen: unknown[] = [];
      while (seen.length < count) {
        const { value } = await iteration.next();
        seen.push(value?.kind === "entry" ? value.entry.seq : value?.kind === "progress" ? `${value.output}` : value?.kind);
      }
      return seen;
    };
    const remove = () =>
      store.write(epoch, (writer) => {
        writer.putActor(actorRow("m/a", { status: "final" }));
        writer.deleteActor("m/a", 0);
      });
    const put = (row: Partial<ActorRow>) => store.write(epoch, (writer) => writer.putActor(actorRow("m/a", row)));
    return { feed, iteration, next, append, remove, put };
  }

  it("gets the last thousand of the signals that it is behind, and every entry", async () => {
    const { feed, next, append } = await watching();
    expect(await next(1)).toEqual([1]);
    for (let nth = 1; nth <= 1001; nth++) feed.publish("m/a", progress(nth));
    feed.committed(append(2, 3), []);
    expect(await next(1002)).toEqual([...Array.from({ length: 1000 }, (_, index) => `${index + 2}`), 2, 3]);
  });

  it("gets a signal behind the entry that it came after, over more than a page", async () => {
    const { feed, next, append } = await watching({ seq: 200 });
    expect(await next(1)).toEqual([1]);
    feed.publish("m/a", progress(1));
    feed.committed(append(201, 450), []);
    feed.publish("m/a", progress(2));
    feed.committed([], ["m/a"]);
    feed.publish("m/a", progress(3));
    feed.committed(append(451, 451), []);
    const seen = await next(453);
    expect([seen.indexOf("1"), seen.indexOf("2"), seen.indexOf("3")]).toEqual([199, 450, 451]);
    expect(seen.filter((item) => typeof item === "number")).toEqual(Array.from({ length: 450 }, (_, index) => index + 2));
  });

  it("gets signals also while its cursor is ahead of the actor", async () => {
    const { feed, iteration, next } = await watching({ after: 5 });
    const seen = next(1);
    feed.publish("m/a", progress(1));
    expect(await seen).toEqual(["1"]);
    await iteration.return(undefined);
    expect(feed.watched()).toBe(0);
  });

  it("gets signals also where the actor's row is damaged and ahead of its journal", async () => {
    const { feed, iteration, next, put } = await watching();
    put({ seq: 5 });
    expect(await next(1)).toEqual([1]);
    const seen = next(1);
    await flushed();
    feed.publish("m/a", progress(1));
    expect(await seen).toEqual(["1"]);
    await iteration.return(undefined);
  });

  it("is told the reason where the ownership was lost", async () => {
    const { feed, iteration, next } = await watching();
    await next(1);
    const waiting = rejection(iteration.next());
    await flushed();
    feed.close(engineError("not_owner", "lost"));
    expect(await waiting).toMatchObject({ code: "not_owner" });
  });

  it("is over where the actor is deleted", async () => {
    const { feed, iteration, next, remove } = await watching();
    await next(1);
    const waiting = iteration.next();
    await flushed();
    remove();
    feed.committed([], ["m/a"]);
    expect(await waiting).toMatchObject({ done: true });
  });

  it("is told the reason of its signal while it waits", async () => {
    const controller = new AbortController();
    const { iteration, next } = await watching({ signal: controller.signal });
    await next(1);
    const waiting = rejection(iteration.next());
    await flushed();
    controller.abort(new Error("enough"));
    expect(await waiting).toMatchObject({ message: "enough" });
  });

  it("leaves nothing behind on its signal, and is not begun where that was aborted", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const { iteration, next, feed } = await watching({ signal });
    await next(1);
    expect(getEventListeners(signal, "abort").length).toBe(1);
    await iteration.return(undefined);
    expect([getEventListeners(signal, "abort").length, feed.watched()]).toEqual([0, 0]);
    controller.abort(new Error("enough"));
    const late = await watching({ signal });
    expect(await rejection(late.iteration.next())).toMatchObject({ message: "enough" });
  });
});

it.each([[-1], [0.5], [Number.NaN], ["1"], [null]])("a cursor that is %s is refused with its path", async (after) => {
  const iteration = watch(memoryStore(), new Feed(), "m/a", { after: after as number });
  expect(await rejection(iteration.next())).toMatchObject({ code: "input_invalid", details: { path: "after" } });
});
