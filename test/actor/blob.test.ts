import Database from "better-sqlite3";
import { describe, expect, it, vi } from "vitest";
import { assign, emit } from "xstate";
import { z } from "zod";
import { BLOB_LIMIT } from "../../src/actor/blob.ts";
import { openEngine } from "../../src/actor/engine.ts";
import { PAYLOAD_LIMIT } from "../../src/actor/journal.ts";
import type { Store } from "../../src/actor/store.ts";
import { counter, handlers, place, rejection, STORES } from "./counter.ts";
import { nothing, thing } from "./thing.ts";

/** Takes text, states it, tells it on, and keeps as much of it as it is told to. */
const scroll = thing(
  {
    id: "scroll",
    context: { kept: "" },
    on: {
      take: {},
      note: { actions: "forget" },
      say: {
        actions: ["state", { type: "deliver", params: ({ event }: any) => ({ to: event.to, event: { type: "heard", text: event.text } }) }],
      },
      heard: { actions: "state" },
      keep: { actions: "keep" },
      break: { guard: "breaks", actions: "forget" },
    },
  },
  {
    schemas: {
      input: z.strictObject({ text: z.string() }),
      context: z.strictObject({ kept: z.string() }),
      events: {
        take: nothing,
        note: z.strictObject({ text: z.string() }),
        say: z.strictObject({ to: z.string().nullable(), text: z.string() }),
        heard: z.strictObject({ text: z.string() }),
        keep: z.strictObject({ times: z.int() }),
        break: nothing,
      },
    },
    actions: {
      state: emit(({ event }: any) => ({ type: "thing.told", text: event.text }) as never),
      keep: assign(({ event }: any) => ({ kept: "x".repeat(event.times) })),
      forget: assign({ kept: "" }),
    },
    guards: {
      breaks: () => {
        throw new Error("a broken guard");
      },
    },
  },
);

const LARGE = "ä".repeat(70_000);
const open = (store: Store, more: object = {}) =>
  openEngine(store, { machines: [scroll, counter], effects: handlers, closeGraceMs: 0, ...more });
const make = (engine: Awaited<ReturnType<typeof open>>, id: string, text = "") => engine.create(scroll, id, { input: { text } as never });
const columns = (store: Store, actor: string) =>
  store.journal(actor, { limit: 100 }).map(({ event, facts, actions }) => [event, facts, actions]);
const REFERENCE = expect.stringMatching(/^\{"\$blob":"[0-9a-f]{64}"\}$/);

describe.each(STORES)("a large payload (%s)", (kind) => {
  it("is a blob, for which its column holds the digest: input, event, facts, requests", async () => {
    const { store } = place(kind);
    const engine = await open(store);
    const a = await make(engine, "a", LARGE);
    await make(engine, "b");
    await a.send({ type: "say", to: "scroll/b", text: LARGE } as never);
    expect(columns(store, "scroll/a")).toEqual([
      [REFERENCE, "[]", "[]"],
      [REFERENCE, REFERENCE, REFERENCE],
    ]);
    expect(columns(store, "scroll/b")[1]).toEqual([REFERENCE, REFERENCE, "[]"]);
    for (const text of columns(store, "scroll/a").flat()) {
      const digest = /[0-9a-f]{64}/.exec(text as string)?.[0];
      if (digest) expect(Buffer.from(engine.getBlob(digest) ?? []).toString()).toContain(LARGE);
    }
    const entries: any[] = [];
    for await (const entry of a.watch()) if (entries.push(entry) === 2) break;
    expect(entries.map(({ event, facts }) => [event.text ?? event.input.text, facts[0]?.text])).toEqual([
      [LARGE, undefined],
      [LARGE, LARGE],
    ]);
    expect(engine.verify()).toMatchObject({ ok: true, faults: [] });
    // The creation is known again, and only with what was really given.
    await make(engine, "a", LARGE);
    expect(await rejection(make(engine, "a", `${LARGE}x`))).toMatchObject({ code: "actor_exists" });
    await engine.close();
  });

  it.each([
    ["is one character too long", 1, REFERENCE],
    ["just fits", 0, expect.stringMatching(/^\{"text"/)],
  ])("stands in its column or not, to the character: one that %s", async (_, more, column) => {
    const { store } = place(kind);
    const engine = await open(store);
    const a = await make(engine, "a");
    const frame = JSON.stringify({ text: "", type: "note" }).length;
    await a.send({ type: "note", text: "x".repeat(65_536 - frame + more) } as never);
    expect(columns(store, "scroll/a")[1]?.[0]).toEqual(column);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("is delivered by a release, out of a dead letter", async () => {
    const { store } = place(kind);
    const engine = await open(store);
    const [a, b] = [await make(engine, "a"), await make(engine, "b", LARGE)];
    const writer = await engine.create(counter, "w", { input: { start: 0 } });
    await writer.send({ type: "count.say", to: b.address, event: { type: "break" } });
    await a.send({ type: "say", to: b.address, text: LARGE } as never);
    await engine.release(b.address, { discard: true });
    expect(columns(store, b.address).at(-1)).toEqual([REFERENCE, REFERENCE, "[]"]);
    expect(engine.deadLetters()).toMatchObject([{ reason: "event_poisoned" }]);
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("beyond the limit is refused, alone, and nothing is written", async () => {
    const { store } = place(kind);
    const engine = await open(store);
    const a = await make(engine, "a");
    const text = "x".repeat(PAYLOAD_LIMIT);
    const position = store.lastPosition();
    const [large, small, creation] = await Promise.all([
      a.send({ type: "note", text } as never),
      a.send({ type: "take" } as never).then(() => a.send({ type: "note", text: "" } as never)),
      rejection(make(engine, "b", text)),
    ]);
    expect(large).toMatchObject({ kind: "refused", code: "event_invalid" });
    expect(small).toMatchObject({ kind: "accepted", seq: 2 });
    expect(creation).toMatchObject({ code: "payload_too_large" });
    expect(store.lastPosition()).toBe(position + 1);
    await engine.close();
  });
});

describe.each(STORES)("a large context (%s)", (kind) => {
  it("fails its macrostep alone beyond the limit", async () => {
    const engine = await open(place(kind).store, { contextLimit: 10_000 });
    const [a, b] = [await make(engine, "a"), await make(engine, "b")];
    const [failure, other] = await Promise.all([
      rejection(a.send({ type: "keep", times: 10_000 } as never)),
      b.send({ type: "keep", times: 10 } as never),
    ]);
    expect([failure.code, other]).toMatchObject(["context_too_large", { kind: "accepted" }]);
    expect(await a.send({ type: "keep", times: 9000 } as never)).toMatchObject({ kind: "accepted", seq: 2 });
    expect(engine.verify().faults).toEqual([]);
    await engine.close();
  });

  it("is warned of once per machine", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      const engine = await open(place(kind).store, { contextWarning: 1000 });
      for (const id of ["a", "b"]) {
        const ref = await make(engine, id);
        for (const times of [500, 2000, 3000]) await ref.send({ type: "keep", times } as never);
      }
      expect(warn.mock.calls).toMatchObject([[expect.stringContaining("scroll/a"), { code: "HOLDFAST_LARGE_CONTEXT" }]]);
      await engine.close();
    } finally {
      warn.mockRestore();
    }
  });
});

describe("a blob that is put", () => {
  it.each([
    ["a text", "text"],
    ["a number", 3],
    ["a list", [1, 2]],
    ["an ArrayBuffer", new ArrayBuffer(2)],
    ["nothing", undefined],
  ])("is bytes, and not %s", async (_, given) => {
    const { store } = place();
    const engine = await open(store);
    expect(await rejection(engine.putBlob(given as never))).toMatchObject({ code: "input_invalid", details: { path: "bytes" } });
    expect(store.blobs({ limit: 1 })).toEqual([]);
  });

  it("is bounded", async () => {
    const engine = await open(place().store);
    expect(await rejection(engine.putBlob(new Uint8Array(BLOB_LIMIT + 1)))).toMatchObject({
      code: "input_invalid",
      message: expect.stringContaining(`${BLOB_LIMIT + 1}`),
      details: { path: "bytes" },
    });
    expect(await engine.putBlob(Buffer.from("text"))).toMatch(/^[0-9a-f]{64}$/);
  });

  it("may have as many bytes as the bound says", async () => {
    const engine = await open(place().store);
    await engine.close();
    // Not refused for its size; and nobody stores a quarter of a gigabyte for that.
    expect(await rejection(engine.putBlob(new Uint8Array(BLOB_LIMIT)))).toMatchObject({ code: "closed" });
  });

  it("is given back as it was when it was put, whatever becomes of the buffer that it was in", async () => {
    const engine = await open(place().store);
    const buffer = Buffer.from("text");
    const stored = engine.putBlob(buffer);
    buffer.fill(0);
    expect(Buffer.from(engine.getBlob(await stored) ?? []).toString()).toBe("text");
  });

  it("is refused where another owner has the root, and nothing is stored", async () => {
    const { store } = place();
    const engine = await open(store);
    store.beginEpoch(1);
    expect(await rejection(engine.putBlob(Buffer.from("text")))).toMatchObject({ code: "not_owner" });
    expect(store.blobs({ limit: 1 })).toEqual([]);
  });
});

describe("the blob of a large payload", () => {
  it.each([
    ["missing", "DELETE FROM blobs WHERE digest = ?"],
    ["changed", "UPDATE blobs SET bytes = x'00' WHERE digest = ?"],
  ])("that is %s is found with its actor, and stops nobody else", async (_, sql) => {
    const { store, file } = place("sqlite");
    const first = await open(store);
    const a = await make(first, "a", LARGE);
    await make(first, "b");
    await a.send({ type: "keep", times: 1 } as never);
    await first.close();
    const digest = /[0-9a-f]{64}/.exec(columns(store, a.address)[0]?.[0] as string)?.[0];
    const db = new Database(file as string);
    db.prepare(sql).run(digest);
    db.close();
    const engine = await open(store);
    const found = engine.verify().faults;
    expect(new Set(found.map(({ code, actor }) => `${code} ${actor}`))).toEqual(new Set(["journal_damaged scroll/a"]));
    // Whoever creates it again in the same tick as others send does them no harm.
    const [again, other] = await Promise.all([
      rejection(make(engine, "a", LARGE)),
      engine.get(scroll, "b")?.send({ type: "keep", times: 1 } as never),
    ]);
    expect([again.code, other]).toMatchObject(["actor_exists", { kind: "accepted" }]);
    expect(await engine.get(scroll, "a")?.send({ type: "keep", times: 2 } as never)).toMatchObject({ kind: "accepted", seq: 3 });
    await engine.close();
  });
});
