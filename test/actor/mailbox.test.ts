import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Mailbox } from "../../src/actor/mailbox.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { faultPoints } from "../../src/testing/index.ts";
import { committing, creation } from "./committing.ts";
import { counter, journal, make, open, place, rejection, STORES } from "./counter.ts";
import { flushed } from "./held.ts";

describe.each(STORES)("the mailbox (%s)", (kind) => {
  it("takes events in the order in which they were sent", async () => {
    const engine = await open(place(kind).store);
    const actor = await make(engine);
    await Promise.all([3, 1, 2].map((by) => actor.send({ type: "count.add", by })));
    expect(
      journal(engine)
        .slice(1)
        .map(({ event }) => event.by),
    ).toEqual([3, 1, 2]);
  });

  it("commits all that was asked for in one tick together", async () => {
    const points = faultPoints();
    const engine = await open(place(kind).store, { probe: points.probe });
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const before = points.count("commit.after");
    await Promise.all([...Array(100).keys()].map((by) => (by % 2 ? a : b).send({ type: "count.add", by })));
    await flushed();
    expect(points.count("commit.after") - before).toBe(1);
  });

  it("divides what is more than a group", async () => {
    const points = faultPoints();
    const engine = await open(place(kind).store, { probe: points.probe, groupLimit: 10 });
    const actor = await make(engine);
    const before = points.count("commit.after");
    await Promise.all([...Array(25).keys()].map(() => actor.send({ type: "count.add", by: 1 })));
    expect([points.count("commit.after") - before, actor.getSnapshot().context.count]).toEqual([3, 25]);
  });

  it("answers mailbox_full at once when more wait for one actor than it holds", async () => {
    const engine = await open(place(kind).store, { mailboxLimit: 2 });
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const answers = await Promise.all([...[1, 2, 3].map((by) => a.send({ type: "count.add", by })), b.send({ type: "count.add", by: 1 })]);
    expect(answers).toMatchObject([
      { kind: "accepted" },
      { kind: "accepted" },
      { kind: "refused", code: "mailbox_full" },
      { kind: "accepted" },
    ]);
    expect(await a.send({ type: "count.add", by: 1 })).toMatchObject({ kind: "accepted", seq: 4 });
  });

  it("counts what still waits, and nothing that is done", async () => {
    const engine = await open(place(kind).store, { mailboxLimit: 2, groupLimit: 1 });
    const actor = await make(engine);
    const add = () => actor.send({ type: "count.add", by: 1 });
    const kinds = async (sent: readonly ReturnType<typeof add>[]) => (await Promise.all(sent)).map((answer) => answer.kind);
    const [first, second] = [add(), add()];
    await first;
    expect(await kinds([second, add(), add()])).toEqual(["accepted", "accepted", "refused"]);
    expect(await kinds([add(), add()])).toEqual(["accepted", "accepted"]);
  });

  it("counts nothing for an actor whose work is done while another's still waits", async () => {
    const engine = await open(place(kind).store, { mailboxLimit: 1, groupLimit: 1 });
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const add = (actor: typeof a) => actor.send({ type: "count.add", by: 1 });
    const [first, waiting] = [add(a), add(b)];
    await first;
    expect(await Promise.all([add(a), add(b), waiting])).toMatchObject([
      { kind: "accepted" },
      { kind: "refused", code: "mailbox_full" },
      { kind: "accepted" },
    ]);
  });

  it("counts all that waits for an actor, of whatever kind", async () => {
    const actor = await make(await open(place(kind).store, { mailboxLimit: 1 }));
    const stopped = actor.stop();
    expect(await actor.send({ type: "count.add", by: 1 })).toMatchObject({ kind: "refused", code: "mailbox_full" });
    await stopped;
  });

  it("turns away nothing but events", async () => {
    const engine = await open(place(kind).store, { mailboxLimit: 1 });
    const made = await Promise.all([make(engine), make(engine)]);
    expect(made.map((actor) => actor.row().seq)).toEqual([1, 1]);
  });

  it("never turns away what handlers need", async () => {
    const engine = await open(place(kind).store, { mailboxLimit: 1 });
    const actors = [await make(engine, "a"), await make(engine, "b"), await make(engine, "c")];
    await Promise.all(actors.map((actor) => actor.send({ type: "once.start", by: 1 })));
    const done = await Promise.all(actors.map((actor) => actor.waitFor((snapshot) => snapshot.matches("idle"))));
    expect(done.map(({ context }) => context.count)).toEqual([1, 1, 1]);
  });

  it("drains at close what was asked for before, and takes nothing after", async () => {
    const { store } = place(kind);
    const engine = await open(store, { groupLimit: 1 });
    const actor = await make(engine);
    const sent = [1, 2, 3].map((by) => actor.send({ type: "count.add", by }));
    const closed = engine.close();
    expect(await rejection(actor.send({ type: "count.add", by: 4 }))).toMatchObject({ code: "closed" });
    await closed;
    expect(store.lastPosition()).toBe(4);
    expect(await Promise.all(sent)).toMatchObject([{ seq: 2 }, { seq: 3 }, { seq: 4 }]);
  });

  it("gives an answer that is durable when it is given", async () => {
    const { store } = place(kind);
    const actor = await make(await open(store));
    const answer = await actor.send({ type: "count.add", by: 1 });
    expect(answer).toMatchObject({ seq: store.actor("counter/a")?.seq });
  });
});

it("what is committed is answered, also where those who act on it fail, and a warning says so", async () => {
  const committed = () => {
    throw new Error("who acts on it failed");
  };
  const mailbox = new Mailbox(committing(memoryStore(), [counter]), { group: 10, perActor: 10 }, { committed, fenced: () => {} });
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warned.mockRestore());
  expect(await mailbox.submit(creation("counter", "a", { start: 0 }))).toMatchObject({ kind: "accepted", seq: 1 });
  expect(warned).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: "who acts on it failed" }));
});

it("the store's own error is the cause of what its group rejects with", async () => {
  const points = faultPoints();
  const actor = await make(await open(place().store, { probe: points.probe }));
  const disk = new Error("disk");
  points.throwAt("commit.inside", disk);
  expect(await rejection(actor.send({ type: "count.add", by: 1 }))).toMatchObject({ code: "storage_failed", cause: disk });
});
