import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { counter, make, open, place, rejection, STORES } from "./counter.ts";
import { harbour, sail, ship2, shipOf } from "./ship.ts";

describe.each(STORES)("waitFor (%s)", (kind) => {
  it("resolves at once where the snapshot fits already", async () => {
    const actor = await make(await open(place(kind).store), "a", 4);
    expect((await actor.waitFor(({ context }) => context.count === 4)).context.count).toBe(4);
  });

  it("resolves with the first committed snapshot that fits", async () => {
    const actor = await make(await open(place(kind).store));
    const waiting = actor.waitFor(({ context }) => context.count >= 3);
    for (const by of [1, 2, 3]) await actor.send({ type: "count.add", by });
    expect((await waiting).context.count).toBe(3);
  });

  it("resolves also where the fitting snapshot is final", async () => {
    const actor = await make(await open(place(kind).store));
    const waiting = actor.waitFor((snapshot) => snapshot.matches("ended"));
    await actor.send({ type: "count.end" });
    expect((await waiting).status).toBe("done");
  });

  it("rejects with actor_final where the actor ends without it", async () => {
    const actor = await make(await open(place(kind).store));
    const waiting = rejection(actor.waitFor(({ context }) => context.count === 9));
    await actor.send({ type: "count.end" });
    expect(await waiting).toMatchObject({ code: "actor_final" });
    expect(await rejection(actor.waitFor(({ context }) => context.count === 9))).toMatchObject({ code: "actor_final" });
  });

  it("leaves nothing behind on its signal where the engine is closed", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const { signal } = new AbortController();
    const early = rejection(actor.waitFor(() => false, { signal }));
    await engine.close();
    for (const waiting of [early, rejection(actor.waitFor(() => false, { signal }))])
      expect(await waiting).toMatchObject({ code: "closed" });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("rejects with the reason of its signal, before and while it waits", async () => {
    const actor = await make(await open(place(kind).store));
    const controller = new AbortController();
    const waiting = rejection(actor.waitFor(() => false, { signal: controller.signal }));
    controller.abort(new Error("enough"));
    expect(await waiting).toMatchObject({ message: "enough" });
    expect(await rejection(actor.waitFor(() => true, { signal: controller.signal }))).toMatchObject({ message: "enough" });
  });

  it("rejects with closed when the engine closes, and after", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const waiting = rejection(actor.waitFor(() => false));
    await engine.close();
    expect(await waiting).toMatchObject({ code: "closed" });
    expect(await rejection(actor.waitFor(() => false))).toMatchObject({ code: "closed" });
  });

  it("rejects with what the question throws", async () => {
    const actor = await make(await open(place(kind).store));
    const question = () => {
      throw new Error("question");
    };
    expect(await rejection(actor.waitFor(question))).toMatchObject({ message: "question" });
  });
});

describe.each(STORES)("the question of waitFor (%s)", (kind) => {
  /** Never satisfied; counts how often it was asked. */
  function asking() {
    const asked = { times: 0 };
    const question = () => {
      asked.times++;
      return false;
    };
    return { asked, question };
  }

  it("is asked at once and after each commit, and not for partial output nor at the close", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const { asked, question } = asking();
    const waiting = rejection(actor.waitFor(question));
    expect(asked.times).toBe(1);
    engine.feed.publish(actor.address, { kind: "progress", output: 1 });
    expect(asked.times).toBe(1);
    await actor.send({ type: "count.add", by: 1 });
    expect(asked.times).toBe(2);
    await engine.close();
    await waiting;
    expect(asked.times).toBe(2);
  });

  it("is not asked once the engine is closed", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    await engine.close();
    const { asked, question } = asking();
    expect(await rejection(actor.waitFor(question))).toMatchObject({ code: "closed" });
    expect(asked.times).toBe(0);
  });
});

describe.each(STORES)("a key of an event (%s)", (kind) => {
  it.each([[""], ["x".repeat(257)], ["\ud800"], [5], [null]])("that is %j is refused with its path", async (key) => {
    const actor = await make(await open(place(kind).store));
    expect(await rejection(actor.send({ type: "count.add", by: 1 }, { key: key as string }))).toMatchObject({
      ...{ code: "input_invalid", details: { path: "key" } },
    });
  });

  it("may have 256 characters", async () => {
    const actor = await make(await open(place(kind).store));
    expect(await actor.send({ type: "count.add", by: 1 }, { key: "x".repeat(256) })).toMatchObject({ kind: "accepted" });
  });

  it("stands for the event as it was when it was sent", async () => {
    const actor = await make(await open(place(kind).store));
    const event = { type: "count.add" as const, by: 1 };
    const sent = actor.send(event, { key: "k" });
    event.by = 2;
    expect(await sent).toMatchObject({ kind: "accepted", seq: 2 });
    expect(await actor.send({ type: "count.add", by: 1 }, { key: "k" })).toMatchObject({ kind: "accepted", seq: 2, repeated: true });
  });

  it("makes no difference to an event that is not plain JSON", async () => {
    const actor = await make(await open(place(kind).store));
    const unfit = () => actor.send({ type: "count.add", by: 1n } as never, { key: "k" });
    expect(await unfit()).toMatchObject({ kind: "refused", code: "event_invalid", path: "$.by" });
    await actor.send({ type: "count.add", by: 1 }, { key: "k" });
    expect(await unfit()).toMatchObject({ kind: "refused", code: "event_invalid", path: "$.by" });
  });

  it("says where an event was not plain JSON, also of one that is mended while it waits", async () => {
    const actor = await make(await open(place(kind).store));
    const event = { type: "count.add" as const, by: 1n as unknown as number };
    const sent = actor.send(event, { key: "k" });
    event.by = 1;
    expect(await sent).toMatchObject({ kind: "refused", code: "event_invalid", path: "$.by" });
  });
});

describe.each(STORES)("what a handle refuses (%s)", (kind) => {
  it("names its actor, where that has ended, is set aside, or is not there", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    const named = (code: string) => ({ code, details: { actor: "counter/a" } });
    expect(await rejection(actor.delete())).toMatchObject(named("actor_not_final"));
    const aside = await make(engine, "b");
    await engine.setAside("counter/b", "test", "damaged");
    expect(await rejection(aside.waitFor(() => true))).toMatchObject({ code: "actor_quarantined", details: { actor: "counter/b" } });
    await actor.stop();
    expect(await rejection(actor.stop())).toMatchObject(named("actor_final"));
    expect(await rejection(actor.waitFor(() => false))).toMatchObject(named("actor_final"));
    await actor.delete();
    expect(() => actor.row()).toThrow(expect.objectContaining(named("actor_not_found")));
  });

  it("names its actor, where that was written by another version or definition of its machine", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [] });
    const named = (code: string) => ({ code, details: { actor: "ship/a" } });
    const newer = shipOf({ version: "2" });
    const second = await sail(store, newer);
    expect(() => second.get(newer, "a")?.getSnapshot()).toThrow(expect.objectContaining(named("machine_version_unknown")));
    await second.close();
    const changed = shipOf({ version: "1", tags: ["quiet"] });
    const third = await sail(store, changed);
    const waiting = rejection(third.get(changed, "a")?.waitFor(() => true) ?? Promise.resolve());
    expect(await waiting).toMatchObject(named("machine_changed"));
    await third.close();
  });

  it("is nothing to a final actor of another version or definition: it is read as it ended", async () => {
    const { store } = place(kind);
    await harbour(store, { a: [{ type: "end" }] });
    for (const machine of [shipOf({ version: "2" }), ship2(), shipOf({ version: "1", tags: ["quiet"] })]) {
      const engine = await sail(store, machine);
      const actor = engine.get(machine, "a");
      expect(actor?.getSnapshot()).toMatchObject({ value: "ended", context: { count: 1 } });
      await actor?.waitFor((snapshot) => snapshot.matches("ended" as never));
      const heard: unknown[] = [];
      actor?.subscribe({ complete: () => heard.push("complete"), error: (error) => heard.push(error) });
      expect(heard).toEqual(["complete"]);
      await engine.close();
    }
  });

  it("is snapshot_damaged where the snapshot cannot be read", async () => {
    const { store } = place(kind);
    const engine = await open(store);
    const actor = await make(engine);
    store.write(store.epoch(), (writer) => writer.putActor({ ...actor.row(), snapshot: "{" }));
    expect(() => actor.getSnapshot()).toThrow(expect.objectContaining({ code: "snapshot_damaged", details: { actor: "counter/a" } }));
  });
});

describe.each(STORES)("a handle (%s)", (kind) => {
  it("reads the last commit, whoever made it", async () => {
    const engine = await open(place(kind).store);
    const [one, other] = [await make(engine), engine.get(counter, "a")];
    await one.send({ type: "count.add", by: 2 });
    expect([other?.getSnapshot().context.count, other?.row().seq, other?.id, other?.address]).toEqual([2, 2, "a", "counter/a"]);
  });

  it("of an id with slashes and other letters finds its actor", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine, "a/b — ü");
    expect([actor.id, engine.get(counter, "a/b — ü")?.address]).toEqual(["a/b — ü", "counter/a/b — ü"]);
  });

  it("hears partial output, and a listener that throws harms nobody", async () => {
    const heard: unknown[] = [];
    const engine = await open(place(kind).store, {
      effects: {
        work: async ({ progress }) => {
          progress({ percent: 50 });
          return { by: 1 };
        },
      },
    });
    const actor = await make(engine);
    const warned = new Promise<Error>((resolve) => {
      process.once("warning", resolve);
    });
    actor.onProgress(() => {
      throw new Error("listener");
    });
    actor.onProgress((output) => heard.push(output));
    await actor.send({ type: "work.start", by: 1 });
    await actor.waitFor((snapshot) => snapshot.matches("idle"));
    expect(heard).toEqual([{ percent: 50 }]);
    expect((await warned).message).toContain("listener");
  });
});

it.each(STORES)("a listener to lost outcomes hears which effect it was, and no partial output, until it ends (%s)", async (kind) => {
  const engine = await open(place(kind).store);
  const actor = await make(engine);
  const heard: unknown[] = [];
  const end = actor.onLost((effect, error) => heard.push([effect, error]));
  engine.feed.publish(actor.address, { kind: "progress", output: 1 });
  engine.feed.publish(actor.address, { kind: "lost", effect: "work", error: "disk" });
  end();
  engine.feed.publish(actor.address, { kind: "lost", effect: "work", error: "late" });
  expect(heard).toEqual([["work", "disk"]]);
});

describe.each(STORES)("a list (%s)", (kind) => {
  it("is in the order of creation, filtered and paged", async () => {
    const engine = await open(place(kind).store);
    for (const id of ["a", "b", "c"]) await make(engine, id);
    await engine.get(counter, "b")?.send({ type: "count.end" });
    expect(engine.list().map((row) => row.id)).toEqual(["a", "b", "c"]);
    expect(engine.list({ status: "active" }).map((row) => row.id)).toEqual(["a", "c"]);
    const first = engine.list({}, { limit: 2 });
    expect(engine.list({}, { after: first.at(-1)?.ordinal ?? 0 }).map((row) => row.id)).toEqual(["c"]);
  });
});
