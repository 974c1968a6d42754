import { describe, expect, it } from "vitest";
import type { Watched } from "../../src/actor/feed.ts";
import { gate, make, open, place, rejection, STORES } from "./counter.ts";

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
    expect(await rejection(all(actor.watch()))).toMatchObject({ code: "actor_not_found" });
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
