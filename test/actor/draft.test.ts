import { describe, expect, it } from "vitest";
import { Draft, type Live } from "../../src/actor/draft.ts";
import { PAGE } from "../../src/actor/page.ts";
import { register } from "../../src/actor/registration.ts";
import type { EffectRow, Store, StoreWriter } from "../../src/actor/store.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { actorRow, answerRow, appendRow, digestOf, effectRow, entryRow, letterRow, timerRow } from "../../src/testing/store-row.ts";
import { counter, make, open, place } from "./counter.ts";

const bytes = new Uint8Array([1]);
const DIGEST = digestOf(bytes);
const quarantine = { code: "code", message: "message", atMs: 1 };
const content = { atMs: 1, version: "1", cause: { kind: "engine" }, event: { type: "go" }, facts: [], actions: [] } as const;

function ground(store: Store, epoch = 1) {
  const registrations = new Map([["counter", register(counter)]]);
  const common = { enclose: <T>(act: () => T) => act(), now: () => 1, sizeLimit: 1000, changed: "refuse" as const };
  return { reader: store, cache: new Map(), registrations, epoch, ...common };
}

/** A store with these rows. */
function stored(put: (writer: StoreWriter) => void = () => {}): Store {
  const store = memoryStore();
  store.write(store.beginEpoch(1), put);
  return store;
}

/** Everything that a draft can hold besides entries, each with a way to put it in. */
const HOLDINGS: Readonly<Record<string, (draft: Draft) => void>> = {
  quarantines: (draft) => void draft.quarantines.set("m/a", quarantine),
  identities: (draft) => void draft.identities.set("key", "m/a"),
  answers: (draft) => draft.recordAnswer(answerRow("m/a", "key")),
  effects: (draft) => void draft.effects.set("m/a:1:0", null),
  timers: (draft) => void draft.timers.set("m/a:1:0", null),
  blobs: (draft) => void draft.blobs.set(DIGEST, bytes),
  rewritten: (draft) => void draft.rewritten.add("m/a"),
  released: (draft) => void draft.released.add("m/b"),
  deleted: (draft) => void draft.deleted.add("m/a"),
  taken: (draft) => void draft.taken.add(1),
  deadLetters: (draft) => void draft.deadLetters.push(letterRow("m/a")),
  aborts: (draft) => void draft.aborts.push("m/a:1:0"),
  writes: (draft) => void draft.writes.push(() => {}),
};
const NAMES = Object.keys(HOLDINGS);
const put = (draft: Draft, ...names: string[]) => {
  for (const name of names) HOLDINGS[name]?.(draft);
  return draft;
};
const held = (draft: Draft) => NAMES.map((name) => [...(draft[name as "aborts"] as Iterable<unknown>)].length);

describe("a draft", () => {
  it("is plain while it holds entries and actors only", () => {
    const draft = new Draft(ground(stored()));
    draft.append("m/a", { seq: 0, hash: "" }, content);
    draft.actors.set("m/a", { kind: "unavailable", address: "m/a", code: "actor_final", message: "", seq: 1 });
    expect(draft.isPlain()).toBe(true);
  });

  it.each(NAMES)("is not plain with one of its %s, by itself or beside anything else", (name) => {
    for (const other of NAMES) expect(put(new Draft(ground(stored())), name, ...(other === name ? [] : [other])).isPlain()).toBe(false);
  });

  it("is empty when it is renewed, on its new ground", () => {
    const draft = put(new Draft(ground(stored())), ...NAMES);
    draft.untold.add("m/a");
    draft.append("m/a", { seq: 0, hash: "" }, content);
    draft.actor("m/a");
    const next = ground(stored(), 2);
    expect(draft.renew(next)).toBe(draft);
    expect(held(draft)).toEqual(NAMES.map(() => 0));
    expect([draft.isPlain(), draft.entries, draft.actors.size, draft.untold.size, draft.ground]).toEqual([true, [], 0, 0, next]);
  });
});

describe("a fork", () => {
  it("changes nothing of its draft until it is merged, and is empty then", () => {
    const draft = new Draft(ground(stored()));
    const fork = put(draft.fork(), ...NAMES);
    fork.append("m/a", { seq: 0, hash: "" }, content);
    expect([held(draft), draft.entries]).toEqual([NAMES.map(() => 0), []]);
    draft.merge(fork);
    expect([held(draft), draft.entries.length]).toEqual([NAMES.map(() => 1), 1]);
    expect([held(fork), fork.entries]).toEqual([NAMES.map(() => 0), []]);
  });

  it("that is merged is used again, for one at a time and on the ground of its draft", () => {
    const draft = new Draft(ground(stored()));
    const first = draft.fork();
    draft.merge(first);
    const next = ground(stored(), 2);
    draft.renew(next);
    const [again, another] = [draft.fork(), draft.fork()];
    expect([again === first, another === first, again.ground]).toEqual([true, false, next]);
  });

  it("that releases an actor ends a quarantine of its group", () => {
    const draft = put(new Draft(ground(stored())), "quarantines");
    const fork = draft.fork();
    fork.released.add("m/a");
    draft.merge(fork);
    expect([...draft.quarantines.keys()]).toEqual([]);
  });
});

describe("what a draft reads", () => {
  const effect = effectRow("m/a:1:0");
  const timer = timerRow("m/a:1:1");

  it("is the store's where nobody changed it, also through a fork", () => {
    const store = stored((writer) => {
      writer.putActor(actorRow("m/a", { quarantine }));
      writer.putEffect(effect);
      writer.putTimer(timer);
      writer.putIdentity("key", "m/a");
      writer.putAnswer(answerRow("m/a", "key"));
      writer.putBlob(DIGEST, bytes, 1);
      appendRow(writer, entryRow("m/a", 1));
    });
    const root = new Draft(ground(store));
    for (const draft of [root, root.fork()]) {
      expect([draft.effect(effect.key), draft.timer(timer.key)]).toMatchObject([effect, timer]);
      expect([draft.identity("key"), draft.answer("m/a", "key"), draft.blob(DIGEST)]).toEqual(["m/a", answerRow("m/a", "key"), bytes]);
      expect([draft.quarantineOf("m/a"), draft.isDeleted("m/a"), draft.hasJournal("m/a")]).toEqual([quarantine, false, true]);
      expect([draft.entryOf("m/a", 1)?.hash, draft.creationOf("m/a")?.seq]).toEqual([entryRow("m/a", 1).hash, 1]);
    }
  });

  it("is nothing where there is nothing, also through a fork", () => {
    const root = new Draft(ground(stored()));
    for (const draft of [root, root.fork()]) {
      const found = [
        draft.actor("m/a"),
        draft.effect("k"),
        draft.timer("k"),
        draft.identity("k"),
        draft.answer("m/a", "k"),
        draft.blob("d"),
      ];
      expect(found).toEqual(found.map(() => undefined));
      expect([draft.quarantineOf("m/a"), draft.entryOf("m/a", 1), draft.creationOf("m/a")]).toEqual([undefined, undefined, undefined]);
      expect([draft.isDeleted("m/a"), draft.hasJournal("m/a"), draft.entriesFor("m/a"), draft.isFinal("m/a")]).toEqual([
        ...[false, false, [], false],
      ]);
    }
  });

  it("is what the draft itself, or the one that it was forked from, made of it", () => {
    const store = stored((writer) => {
      writer.putEffect(effect);
      writer.putTimer(timer);
    });
    const root = new Draft(ground(store));
    root.effects.set(effect.key, null);
    root.timers.set(timer.key, { ...timer, state: "parked" });
    root.identities.set("key", "m/b");
    root.recordAnswer(answerRow("m/b", "key"));
    root.blobs.set(DIGEST, bytes);
    root.quarantines.set("m/b", quarantine);
    root.deleted.add("m/c");
    root.append("m/b", { seq: 0, hash: "" }, content);
    for (const draft of [root, root.fork()]) {
      expect([draft.effect(effect.key), draft.timer(timer.key)?.state]).toEqual([undefined, "parked"]);
      expect([draft.identity("key"), draft.answer("m/b", "key"), draft.blob(DIGEST)]).toEqual(["m/b", answerRow("m/b", "key"), bytes]);
      expect([draft.quarantineOf("m/b"), draft.isDeleted("m/c"), draft.isDeleted("m/b")]).toEqual([quarantine, true, false]);
      expect([draft.entryOf("m/b", 1)?.seq, draft.entriesFor("m/b").length, draft.entriesFor("m/c")]).toEqual([1, 1, []]);
    }
    const fork = root.fork();
    fork.append("m/b", { seq: 1, hash: "h" }, content);
    fork.append("m/c", { seq: 0, hash: "" }, content);
    expect(fork.entriesFor("m/b").map(({ seq }) => seq)).toEqual([1, 2]);
    expect([fork.entryOf("m/b", 2)?.actor, fork.entryOf("m/c", 2), fork.entryOf("m/c", 1)?.seq]).toEqual(["m/b", undefined, 1]);
  });

  it("of a creation is whole, also where it is large and of this group", () => {
    const root = new Draft(ground(stored()));
    const event = { type: "go", text: "x".repeat(70_000) };
    const { event: column } = root.append("m/a", { seq: 0, hash: "" }, { ...content, event });
    expect(column).toContain("$blob");
    for (const draft of [root, root.fork()]) expect(JSON.parse(draft.creationOf("m/a")?.event ?? "")).toEqual(event);
  });

  it("says who has ended and who was deleted, also of machines that this program does not have", () => {
    const store = stored((writer) => {
      for (const address of ["m/a", "m/b"]) {
        writer.putActor(actorRow(address, { status: "final" }));
        appendRow(writer, entryRow(address, 1));
      }
      writer.putActor(actorRow("m/c"));
      writer.deleteActor("m/b", 1);
    });
    const root = new Draft(ground(store));
    for (const draft of [root, root.fork()]) {
      expect(["m/a", "m/b", "m/c"].map((address) => draft.isFinal(address))).toEqual([true, false, false]);
      expect(["m/a", "m/b", "m/c"].map((address) => draft.isDeleted(address))).toEqual([false, true, false]);
    }
  });

  it("of the answers is each actor's own", () => {
    const draft = new Draft(ground(stored()));
    draft.recordAnswer(answerRow("m/a", "key"));
    expect([draft.answer("m/b", "key"), draft.answer("m/a", "other")]).toEqual([undefined, undefined]);
  });
});

it("an effect that is replaced is another one to its actor and to the store, and no other is", async () => {
  const { store } = place();
  const engine = await open(store, { effects: { silent: () => new Promise(() => {}) } });
  const actor = await make(engine);
  for (let time = 0; time < 2; time++) await actor.send({ type: "silent.start" });
  const draft = new Draft(ground(store));
  const live = draft.actor(actor.address) as Live;
  const [first, second] = live.effects as [EffectRow, EffectRow];
  const replaced = { ...first, state: "exhausted" } as const;
  draft.replaceEffect(live, replaced);
  expect((draft.actor(actor.address) as Live).effects).toEqual([replaced, second]);
  expect([...draft.effects]).toEqual([[first.key, replaced]]);
});

describe("letters", () => {
  const reasons = new Set(["actor_quarantined"]);
  const letter = (seq: number, more: object = {}) => ({ ...letterRow("m/a"), seq, reason: "actor_quarantined", ...more });

  it("are those of one receiver for these reasons, stored ones first, without those that were taken", () => {
    const store = stored((writer) => {
      for (const one of [letter(1), letter(2, { receiver: "m/b" }), letter(3, { reason: "actor_final" }), letter(4)])
        writer.putDeadLetter(one);
    });
    const root = new Draft(ground(store));
    const own = [letter(5), letter(6, { receiver: "m/b" }), letter(7, { reason: "actor_final" }), letter(8)];
    root.deadLetters.push(...own);
    const fork = root.fork();
    fork.deadLetters.push(letter(9));
    const seqs = (draft: Draft) => draft.letters("m/a", reasons).map(({ seq }) => seq);
    expect([seqs(root), seqs(fork)]).toEqual([
      [1, 4, 5, 8],
      [1, 4, 5, 8, 9],
    ]);
    const [first] = fork.letters("m/a", reasons);
    fork.taken.add(first?.position ?? 0);
    root.taken.add(own[3] as (typeof own)[0]);
    expect([seqs(root), seqs(fork)]).toEqual([
      [1, 4, 5],
      [4, 5, 9],
    ]);
  });

  it("are all of them, also where there are more than a page", () => {
    const store = stored((writer) => {
      for (let seq = 1; seq <= PAGE + 1; seq++) writer.putDeadLetter(letter(seq));
    });
    expect(new Draft(ground(store)).letters("m/a", reasons)).toHaveLength(PAGE + 1);
  });
});

describe("an actor that is set aside", () => {
  async function counting() {
    const { store } = place();
    await make(await open(store), "a", 7);
    return new Draft(ground(store));
  }

  it("keeps what the group had made of it, and its place in its journal", async () => {
    const draft = await counting();
    const live = draft.actor("counter/a");
    draft.quarantine("counter/a", quarantine);
    const expected = { kind: "unavailable", address: "counter/a", code: "actor_quarantined", message: "code: message", seq: 1, last: live };
    expect(draft.actor("counter/a")).toEqual(expected);
    draft.quarantine("counter/a", { ...quarantine, code: "again" });
    expect(draft.actor("counter/a")).toEqual({ ...expected, message: "again: message" });
    expect(draft.quarantines.get("counter/a")?.code).toBe("again");
  });

  it("may be one that is not there", () => {
    const draft = new Draft(ground(stored()));
    draft.quarantine("m/a", quarantine);
    expect(draft.actor("m/a")).toEqual({
      kind: "unavailable",
      address: "m/a",
      code: "actor_quarantined",
      message: "code: message",
      seq: 0,
    });
  });

  it("is read once in a group, and from the cache where it is there", async () => {
    const draft = await counting();
    const live = draft.actor("counter/a");
    expect([draft.actor("counter/a") === live, draft.stored.get("counter/a") === live, draft.isFinal("counter/a")]).toEqual([
      true,
      true,
      false,
    ]);
    const next = ground(memoryStore());
    next.cache.set("counter/a", live);
    draft.renew(next);
    expect([draft.fork().actor("counter/a") === live, draft.stored.get("counter/a") === live]).toEqual([true, true]);
  });
});
