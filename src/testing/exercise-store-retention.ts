/** The conformance suite of stores, continued: what retention removes, and what it leaves behind. */

import assert from "node:assert/strict";
import type { Store, StoreWriter } from "../actor/store.ts";
import {
  ALL,
  actorRow,
  answerRow,
  appendRow,
  digestOf,
  effectRow,
  entryRow,
  everything,
  letterRow,
  NOW_MS,
  type Promised,
  timerRow,
} from "./store-row.ts";

const HOUR_MS = 3_600_000;

/** The promises about the deletion of actors. */
export function deletion(promised: Promised): void {
  /** `m/a`, final, with everything that an actor can have; then `m/b` with an entry after it. */
  const two = (writer: StoreWriter) => {
    for (const actor of ["m/a", "m/b"]) {
      appendRow(writer, entryRow(actor, 1));
      appendRow(writer, entryRow(actor, 2, { hash: `${actor}2` }));
      writer.putActor(actorRow(actor, { seq: 2, hash: `${actor}2`, status: actor === "m/a" ? "final" : "active", state: "done" }));
      writer.putAnswer(answerRow(actor, "k"));
      writer.putIdentity(`id of ${actor}`, actor);
      writer.putEffect(effectRow(`${actor}:e`, { actor, state: "exhausted" }));
      writer.putTimer(timerRow(`${actor}:t`, { actor }));
      writer.putDeadLetter(letterRow(actor, { sender: actor === "m/a" ? "m/b" : "m/a" }));
    }
  };
  promised("a deleted actor leaves a tombstone and nothing else, and the others stay whole", (store, epoch) => {
    store.write(epoch, two);
    store.write(epoch, (writer) => writer.deleteActor("m/a", 77));
    const stone = { address: "m/a", machine: "m", version: "1", state: "done", seq: 2, hash: "m/a2", deletedMs: 77 };
    assert.deepEqual(store.tombstone("m/a"), stone);
    const [listed] = store.tombstones(ALL);
    assert.deepEqual(listed, { ...stone, ordinal: listed?.ordinal });
    assert.equal(store.tombstone("m/b"), undefined);
    const left = [store.actor("m/a"), store.answer("m/a", "k"), store.identity("id of m/a"), store.effect("m/a:e"), store.timer("m/a:t")];
    assert.deepEqual(left, [undefined, undefined, undefined, undefined, undefined]);
    assert.deepEqual([store.journal("m/a", ALL), store.identities("m/a"), store.deadLetters({ receiver: "m/a" }, ALL)], [[], [], []]);
    const kept = [store.actor("m/b")?.seq, store.answer("m/b", "k")?.key, store.identity("id of m/b"), store.effect("m/b:e")?.actor];
    assert.deepEqual(kept, [2, "k", "m/b", "m/b"]);
    assert.deepEqual(store.entries(ALL).map((row) => [row.position, row.actor]), [[3, "m/b"], [4, "m/b"]]); // biome-ignore format: a table
    assert.deepEqual(store.timers({}, ALL).map((row) => row.key), ["m/b:t"]); // biome-ignore format: one line says it
    assert.deepEqual(store.deadLetters({}, ALL).map((row) => row.receiver), ["m/b"]); // biome-ignore format: one line says it
  });
  promised("positions stay as they were over a deletion, and go on after the last", (store, epoch) => {
    store.write(epoch, two);
    store.write(epoch, (writer) => writer.deleteActor("m/a", 77));
    assert.equal(store.lastPosition(), 4);
    assert.equal(
      store.write(epoch, (writer) => appendRow(writer, entryRow("m/b", 3))),
      5,
    );
    assert.deepEqual(store.entries({ after: 1, limit: 2 }).map((row) => row.position), [3, 4]); // biome-ignore format: one line says it
  });
  promised("an actor that is missing or not final is not deleted", (store, epoch) => {
    store.write(epoch, two);
    const before = everything(store);
    const refused = (address: string, why: RegExp) => assert.throws(() => store.write(epoch, (w) => w.deleteActor(address, 1)), why);
    refused("m/none", /not there/);
    store.write(epoch, (writer) => writer.putActor(actorRow("m/open")));
    refused("m/open", /not final/);
    assert.deepEqual((everything(store) as { entries: unknown }).entries, (before as { entries: unknown }).entries);
  });
  promised("a position that goes with its actor is not given out again", (store, epoch) => {
    store.write(epoch, two);
    store.write(epoch, (writer) => writer.putActor(actorRow("m/b", { seq: 3, status: "final" })));
    const last = store.write(epoch, (writer) => {
      const position = appendRow(writer, entryRow("m/b", 3));
      writer.deleteActor("m/b", 1);
      return position;
    });
    assert.equal(store.lastPosition(), last);
    assert.equal(
      store.write(epoch, (writer) => appendRow(writer, entryRow("m/a", 3))),
      last + 1,
    );
  });
  promised("a deletion that is taken back leaves everything as it was", (store, epoch) => {
    store.write(epoch, two);
    const before = everything(store);
    const body = (writer: StoreWriter) => {
      writer.deleteActor("m/a", 1);
      writer.deleteAnswers(NOW_MS + 1, 10);
      writer.deleteDeadLetters(NOW_MS + 1, 10, []);
      writer.deleteDeadLetter(2);
      appendRow(writer, entryRow("m/b", 3));
      throw new Error("undone");
    };
    assert.throws(() => store.write(epoch, body), /undone/);
    assert.deepEqual(everything(store), before);
  });
  promised("the ordinal of a deleted actor is not given out again, and its tombstone can be renewed", (store, epoch) => {
    store.write(epoch, (writer) => {
      writer.putActor(actorRow("m/b"));
      writer.putActor(actorRow("m/a", { status: "final" }));
    });
    const ordinal = store.actors({}, ALL).at(-1)?.ordinal ?? Infinity;
    store.write(epoch, (writer) => writer.deleteActor("m/a", 1));
    store.write(epoch, (writer) => writer.putActor(actorRow("m/a", { status: "final", seq: 5 })));
    assert.ok((store.actors({}, ALL).at(-1)?.ordinal ?? 0) > ordinal);
    store.write(epoch, (writer) => writer.deleteActor("m/a", 2));
    assert.deepEqual(store.tombstones(ALL).map((row) => [row.seq, row.deletedMs]), [[5, 2]]); // biome-ignore format: one line says it
  });
}

/** The promises about the removal of answers and dead letters. */
export function watermarks(promised: Promised): void {
  const answers = (store: Store, epoch: number, ...timesMs: number[]) =>
    store.write(epoch, (writer) => timesMs.forEach((atMs, index) => void writer.putAnswer(answerRow("m/a", `${index}`, { atMs }))));
  const left = (store: Store, count: number) =>
    Array.from({ length: count }, (_, index) => store.answer("m/a", `${index}`)?.atMs).filter((atMs) => atMs !== undefined);

  promised("nothing is removed at first, and the watermarks say so", (store) => {
    assert.deepEqual(store.watermarks(), { answersMs: 0, deadLettersMs: 0 });
  });
  promised("answers from before a time are removed, oldest first, and the watermark rises to it", (store, epoch) => {
    answers(store, epoch, 50, 10, 40, 20, 30);
    assert.equal(store.write(epoch, (writer) => writer.deleteAnswers(40, 10)), 3); // biome-ignore format: one line says it
    assert.deepEqual(left(store, 5), [50, 40]);
    assert.deepEqual(store.watermarks(), { answersMs: 40, deadLettersMs: 0 });
  });
  promised("a removal that its limit cuts short raises the watermark to the oldest one left", (store, epoch) => {
    answers(store, epoch, 50, 10, 40, 20, 30);
    assert.equal(store.write(epoch, (writer) => writer.deleteAnswers(60, 2)), 2); // biome-ignore format: one line says it
    assert.deepEqual(left(store, 5), [50, 40, 30]);
    assert.equal(store.watermarks().answersMs, 30);
    assert.equal(store.write(epoch, (writer) => writer.deleteAnswers(60, 3)), 3); // biome-ignore format: one line says it
    assert.equal(store.watermarks().answersMs, 60);
  });
  promised("what was removed is below the watermark, also where the limit cuts between answers of one time", (store, epoch) => {
    answers(store, epoch, 10, 10, 10);
    store.write(epoch, (writer) => writer.deleteAnswers(60, 2));
    assert.deepEqual(left(store, 3).length, 1);
    assert.equal(store.watermarks().answersMs, 11);
  });
  promised("a watermark never falls, and does not rise where nothing was removed", (store, epoch) => {
    answers(store, epoch, 10, 200);
    store.write(epoch, (writer) => writer.deleteAnswers(100, 5));
    answers(store, epoch, 10);
    store.write(epoch, (writer) => writer.deleteAnswers(20, 5));
    assert.equal(store.watermarks().answersMs, 100);
    assert.equal(store.write(epoch, (writer) => writer.deleteAnswers(150, 5)), 0); // biome-ignore format: one line says it
    assert.equal(store.watermarks().answersMs, 100);
  });
  promised("dead letters are removed likewise, but not those that wait for an actor that is unfinished or set aside", (store, epoch) => {
    store.write(epoch, (writer) => {
      const quarantine = { code: "c", message: "m", atMs: 1 };
      writer.putActor(actorRow("m/aside", { quarantine }));
      writer.putActor(actorRow("m/over", { status: "final", quarantine }));
      writer.putActor(actorRow("m/ended", { status: "final" }));
      writer.putActor(actorRow("m/a"));
      for (const [receiver, reason, atMs] of [
        ["m/a", "other", 30], ["m/aside", "wait", 5], ["m/gone", "wait", 10], ["m/a", "other", 20], ["m/a", "other", 99],
        ["m/a", "late", 6], ["m/over", "wait", 7], ["m/ended", "wait", 40], ["m/aside", "other", 41],
      ] as const) // biome-ignore format: a table
        writer.putDeadLetter(letterRow(receiver, { reason, atMs }));
    });
    const kept = () => store.deadLetters({}, ALL).map((row) => row.atMs);
    const remove = (limit: number) => store.write(epoch, (writer) => writer.deleteDeadLetters(50, limit, ["wait", "late"]));
    assert.equal(remove(2), 2);
    assert.deepEqual([kept(), store.watermarks().deadLettersMs], [[30, 5, 99, 6, 7, 40, 41], 30]);
    assert.equal(remove(4), 3);
    assert.deepEqual([kept(), store.watermarks().deadLettersMs], [[5, 99, 6, 7], 50]);
    assert.equal(remove(2), 0);
    assert.equal(store.watermarks().answersMs, 0);
  });
  promised("limits out of bounds are refused", (store, epoch) => {
    for (const limit of [0, 1001, 1.5]) {
      assert.throws(() => store.write(epoch, (writer) => writer.deleteAnswers(1, limit)));
      assert.throws(() => store.write(epoch, (writer) => writer.deleteDeadLetters(1, limit, [])));
    }
  });
  promised("one dead letter can be deleted, and its position is not given out again", (store, epoch) => {
    store.write(epoch, (writer) => ["m/a", "m/b"].forEach((receiver) => void writer.putDeadLetter(letterRow(receiver))));
    store.write(epoch, (writer) => writer.deleteDeadLetter(2));
    store.write(epoch, (writer) => writer.deleteDeadLetter(99));
    store.write(epoch, (writer) => writer.putDeadLetter(letterRow("m/c")));
    assert.deepEqual(store.deadLetters({}, ALL).map((row) => [row.position, row.receiver]), [[1, "m/a"], [3, "m/c"]]); // biome-ignore format: a table
  });
}

/** The promises about blobs. */
export function blobs(promised: Promised): void {
  const put = (store: Store, epoch: number, text: string, atMs: number) =>
    store.write(epoch, (writer) => writer.putBlob(digestOf(Buffer.from(text)), Buffer.from(text), atMs));

  promised("a blob is stored once under its digest and comes back whole", (store, epoch) => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
    const digest = digestOf(bytes);
    for (let time = 0; time < 2; time++) store.write(epoch, (writer) => writer.putBlob(digest, bytes, NOW_MS));
    assert.deepEqual(store.blob(digest), bytes);
    assert.equal(store.blob(digestOf(new Uint8Array())), undefined);
    assert.throws(() => store.write(epoch, (writer) => writer.putBlob(digest, new Uint8Array([1]), NOW_MS)), /not the SHA-256/);
    put(store, epoch, "", NOW_MS);
    assert.deepEqual(store.blob(digestOf(new Uint8Array())), new Uint8Array());
  });
  promised("blobs are listed without their bytes, with the hour in which they were last stored", (store, epoch) => {
    put(store, epoch, "one", NOW_MS + 5);
    put(store, epoch, "three", NOW_MS + HOUR_MS);
    put(store, epoch, "", NOW_MS);
    const [first] = store.blobs({ limit: 1 });
    const rest = store.blobs({ after: first?.ordinal ?? 0, limit: 5 });
    assert.deepEqual([first, ...rest].map((row) => [row?.digest, row?.size, row?.storedMs]), [
      [digestOf(Buffer.from("one")), 3, NOW_MS],
      [digestOf(Buffer.from("three")), 5, NOW_MS + HOUR_MS],
      [digestOf(Buffer.from("")), 0, NOW_MS],
    ]); // biome-ignore format: a table
  });
  promised("a blob that is stored again is as young as then, keeps its ordinal, and never grows older", (store, epoch) => {
    for (const text of ["a", "b"]) put(store, epoch, text, NOW_MS);
    const ordinals = store.blobs(ALL).map((row) => row.ordinal);
    put(store, epoch, "a", NOW_MS + 3 * HOUR_MS + 17);
    put(store, epoch, "a", NOW_MS + HOUR_MS);
    const stored = store.blobs(ALL);
    assert.deepEqual(stored.map((row) => [row.ordinal, row.storedMs]), [[ordinals[0], NOW_MS + 3 * HOUR_MS], [ordinals[1], NOW_MS]]); // biome-ignore format: a table
    assert.equal(Buffer.from(store.blob(digestOf(Buffer.from("a"))) ?? []).toString(), "a");
  });
  promised("a deleted blob is gone, and its ordinal with it", (store, epoch) => {
    for (const text of ["a", "b"]) put(store, epoch, text, NOW_MS);
    const last = store.blobs(ALL).at(-1)?.ordinal ?? Infinity;
    store.write(epoch, (writer) => writer.deleteBlob(digestOf(Buffer.from("b"))));
    store.write(epoch, (writer) => writer.deleteBlob("never there"));
    assert.equal(store.blob(digestOf(Buffer.from("b"))), undefined);
    put(store, epoch, "b", NOW_MS);
    assert.ok((store.blobs(ALL).at(-1)?.ordinal ?? 0) > last);
  });
}
