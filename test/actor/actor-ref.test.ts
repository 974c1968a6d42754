import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { counter, make, open, place, rejection, STORES } from "./counter.ts";

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
