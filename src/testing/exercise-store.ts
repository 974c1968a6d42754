/**
 * The conformance suite of the store contract (`actor/store.ts`): what any implementation promises, as tests.
 *
 * Works with any test framework that has `describe` and `test`; asserts with node:assert. The names of the tests are the promises.
 */

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { Store, StoreWriter } from "../actor/store.ts";
import { journal, steps } from "./exercise-store-journal.ts";
import { actors, effects, records, startable } from "./exercise-store-lists.ts";
import { blobs, deletion, watermarks } from "./exercise-store-retention.ts";
import { openings, timers } from "./exercise-store-timers.ts";
import {
  ALL,
  AWKWARD,
  actorRow,
  answerRow,
  appendRow,
  digestOf,
  effectRow,
  entryRow,
  everything,
  hasCode,
  letterRow,
  NOW_MS,
  type Promised,
  putOneOfEach,
  timerRow,
} from "./store-row.ts";

/** The two functions that the suite needs; those of vitest, jest, node:test and mocha (`it`) fit. */
export interface TestFramework {
  readonly describe: (name: string, body: () => void) => void;
  readonly test: (name: string, body: () => Promise<void>) => void;
}

/** Opens a new, empty store. The suite closes it. */
export type OpenStore = () => Store | Promise<Store>;

/** Declares the conformance tests of one store. */
export function exerciseStore(name: string, open: OpenStore, framework: TestFramework): void {
  const promised: Promised = (promise, body) =>
    framework.test(promise, async () => {
      const store = await open();
      try {
        await body(store, store.beginEpoch(NOW_MS));
      } finally {
        store.close();
      }
    });
  framework.describe(`store contract: ${name}`, () => {
    framework.describe("write", () => transactions(promised));
    framework.describe("rows", () => fidelity(promised));
    framework.describe("write refuses", () => refusals(promised));
    framework.describe("epoch", () => epochs(promised));
    framework.describe("actors", () => actors(promised));
    framework.describe("journal", () => journal(promised));
    framework.describe("effects", () => effects(promised));
    framework.describe("effects that may start", () => startable(promised));
    framework.describe("steps", () => steps(promised));
    framework.describe("timers", () => timers(promised));
    framework.describe("the beginning of an ownership", () => openings(promised));
    framework.describe("answers, identities, dead letters", () => records(promised));
    framework.describe("blobs", () => blobs(promised));
    framework.describe("deletion", () => deletion(promised));
    framework.describe("watermarks", () => watermarks(promised));
  });
}

function transactions(promised: Promised): void {
  promised("returns what its body returns, and everything it wrote is visible", (store, epoch) => {
    assert.equal(
      store.write(epoch, (writer) => {
        putOneOfEach(writer, "a");
        return 42;
      }),
      42,
    );
    assert.deepEqual(store.actor("m/a"), actorRow("m/a"));
    assert.deepEqual(store.entries(ALL), [{ ...entryRow("m/a", 1), position: 1 }]);
    assert.deepEqual(store.answer("m/a", "k"), answerRow("m/a", "k"));
    assert.equal(store.identity("id-a"), "m/a");
    assert.deepEqual(store.effect("effect-a"), effectRow("effect-a"));
    assert.deepEqual(store.timer("timer-a"), timerRow("timer-a"));
    assert.deepEqual(store.deadLetters({}, ALL), [{ ...letterRow("m/a"), position: 1 }]);
    assert.equal(Buffer.from(store.blob(digestOf(Buffer.from("a"))) ?? []).toString(), "a");
  });
  promised("reads inside its body see what the body has written so far", (store, epoch) => {
    store.write(epoch, (writer) => {
      putOneOfEach(writer, "a");
      assert.deepEqual(writer.actor("m/a"), actorRow("m/a"));
      assert.equal(writer.actors({ status: "active" }, ALL).length, 1);
      assert.equal(writer.journal("m/a", ALL).length, 1);
      assert.equal(writer.lastPosition(), 1);
      assert.equal(writer.identity("id-a"), "m/a");
      writer.deleteEffect("effect-a");
      assert.equal(writer.effect("effect-a"), undefined);
      assert.equal(writer.epoch(), epoch);
      assert.equal(writer.rootId, store.rootId);
    });
  });
  promised("leaves nothing when its body throws, and the error passes through unchanged", (store, epoch) => {
    store.write(epoch, (writer) => putOneOfEach(writer, "a"));
    store.write(epoch, (writer) => {
      writer.putEffect(effectRow("effect-last"));
      writer.putTimer(timerRow("timer-last"));
      writer.putBlob(digestOf(Buffer.from("last")), Buffer.from("last"), NOW_MS);
    });
    const before = everything(store);
    const thrown = new TypeError("mine");
    const body = (writer: StoreWriter) => {
      putOneOfEach(writer, "b");
      writer.putActor(actorRow("m/a", { seq: 2, status: "final", snapshot: "changed" }));
      writer.putEffect(effectRow("effect-last", { state: "started" }));
      writer.deleteEffect("effect-a");
      writer.putEffect(effectRow("effect-a", { name: "again" }));
      writer.deleteEffect("effect-last");
      writer.putTimer(timerRow("timer-a", { dueMs: 1 }));
      writer.deleteTimer("timer-last");
      writer.putTimer(timerRow("timer-last", { state: "parked" }));
      writer.putBlob(digestOf(Buffer.from("a")), Buffer.from("a"), NOW_MS * 2);
      writer.deleteBlob(digestOf(Buffer.from("last")));
      throw thrown;
    };
    assert.throws(
      () => store.write(epoch, body),
      (error) => error === thrown,
    );
    assert.deepEqual(everything(store), before);
  });
  promised("works again after a body that threw", (store, epoch) => {
    assert.throws(() => store.write(epoch, () => { throw new Error("once"); }), /once/); // biome-ignore format: one line says it
    store.write(epoch, (writer) => putOneOfEach(writer, "a"));
    assert.equal(store.lastPosition(), 1);
  });
}

function fidelity(promised: Promised): void {
  promised("text comes back byte for byte, ids in any script included", (store, epoch) => {
    const address = `m/${AWKWARD}`;
    const quarantine = { code: "event_poisoned", message: AWKWARD, atMs: 7, event: AWKWARD, source: AWKWARD };
    const actor = actorRow(address, {
      snapshot: AWKWARD,
      state: AWKWARD,
      hash: AWKWARD,
      version: AWKWARD,
      definition: AWKWARD,
      quarantine,
    });
    const entry = entryRow(address, 1, { cause: AWKWARD, event: AWKWARD, facts: AWKWARD, actions: AWKWARD, hash: AWKWARD });
    const effect = effectRow(AWKWARD, { actor: address, name: AWKWARD, params: AWKWARD, scope: AWKWARD, child: AWKWARD, error: AWKWARD });
    const timer = timerRow(AWKWARD, { actor: address, id: AWKWARD, event: AWKWARD, delay: AWKWARD });
    const letter = letterRow(address, { sender: AWKWARD, event: AWKWARD, reason: AWKWARD });
    store.write(epoch, (writer) => {
      writer.putActor(actor);
      appendRow(writer, entry);
      writer.putEffect(effect);
      writer.putTimer(timer);
      writer.putDeadLetter(letter);
      writer.putAnswer(answerRow(address, AWKWARD, { event: AWKWARD, answer: AWKWARD }));
      writer.putIdentity(AWKWARD, address);
    });
    assert.deepEqual(store.actor(address), actor);
    assert.deepEqual(store.journal(address, ALL), [{ ...entry, position: 1 }]);
    assert.deepEqual(store.effect(AWKWARD), effect);
    assert.deepEqual(store.timers({ actor: address }, ALL), [{ ...timer, ordinal: store.timers({}, ALL)[0]?.ordinal }]);
    assert.deepEqual(store.deadLetters({ receiver: address, reason: AWKWARD }, ALL), [{ ...letter, position: 1 }]);
    assert.deepEqual(store.answer(address, AWKWARD), answerRow(address, AWKWARD, { event: AWKWARD, answer: AWKWARD }));
    assert.deepEqual(store.identities(address), [AWKWARD]);
    assert.equal(store.actor(`m/${AWKWARD.normalize("NFC")}`), undefined);
  });
  promised("a row that its caller changes afterwards is not changed in the store", (store, epoch) => {
    const row = { ...actorRow("m/a"), quarantine: { code: "c", message: "kept", atMs: 1 }, ordinal: 99 };
    const bytes = Buffer.from("kept");
    const digest = digestOf(bytes);
    store.write(epoch, (writer) => {
      writer.putActor(row);
      writer.putBlob(digest, bytes, NOW_MS);
    });
    row.state = "changed";
    row.quarantine.message = "changed";
    bytes.write("lost");
    assert.deepEqual(store.actor("m/a"), actorRow("m/a", { quarantine: { code: "c", message: "kept", atMs: 1 } }));
    assert.equal(Buffer.from(store.blob(digest) ?? []).toString(), "kept");
  });
}

function refusals(promised: Promised): void {
  promised("a write inside a write, and the outer one goes on", (store, epoch) => {
    store.write(epoch, (writer) => {
      writer.putActor(actorRow("m/a"));
      assert.throws(() => store.write(epoch, (inner) => inner.putActor(actorRow("m/b"))), /write inside a write/);
      assert.throws(() => store.beginEpoch(NOW_MS), /write inside a write/);
      assert.throws(() => store.close(), /inside a write/);
      writer.putActor(actorRow("m/c"));
    });
    assert.deepEqual(
      store.actors({}, ALL).map((row) => row.address),
      ["m/a", "m/c"],
    );
    assert.equal(store.epoch(), epoch);
  });
  promised("a body that returns a promise; nothing is written, then or later", async (store, epoch) => {
    const body = async (writer: StoreWriter) => {
      writer.putActor(actorRow("m/a"));
      await undefined;
      writer.putActor(actorRow("m/b"));
    };
    assert.throws(() => store.write(epoch, body), /promise/);
    await setImmediate();
    assert.deepEqual(store.actors({}, ALL), []);
  });
  promised("a writer that is kept after its write", (store, epoch) => {
    const kept = store.write(epoch, (writer) => writer);
    assert.throws(() => putOneOfEach(kept, "a"), /after its write/);
    for (const late of [
      () => kept.deleteEffect("x"),
      () => kept.deleteTimer("x"),
      () => kept.deleteBlob("x"),
      () => kept.deleteDeadLetter(1),
      () => kept.deleteActor("m/a", 1),
      () => kept.deleteAnswers(1, 1),
      () => kept.deleteDeadLetters(1, 1, []),
      () => kept.advanceActors([{ ...actorRow("m/a"), from: 1 }]),
      () => kept.appendEntries([entryRow("m/a", 1)], [0]),
    ])
      assert.throws(late, /after its write/);
    // What came too late spoils nothing that comes after it.
    store.write(epoch, (writer) => {
      assert.throws(() => kept.appendEntries([entryRow("m/a", 1)], [0]), /after its write/);
      writer.putIdentity("name", "m/a");
    });
    assert.equal(store.identity("name"), "m/a");
    assert.deepEqual(store.actors({}, ALL), []);
  });
  promised("text and numbers that would come back changed", (store, epoch) => {
    const refused = (put: (writer: StoreWriter) => void) => assert.throws(() => store.write(epoch, put), /invariant/);
    refused((writer) => writer.putIdentity("lone \ud800", "m/a"));
    refused((writer) => writer.putActor(actorRow("m/a", { updatedMs: 1.5 })));
    refused((writer) => writer.appendEntries([entryRow("m/a", 2 ** 53)], [0]));
    refused((writer) => writer.putActor(actorRow("m/a", { quarantine: { code: "lone \udfff", message: "m", atMs: 1 } })));
    refused((writer) => writer.putTimer(timerRow("t", { dueMs: Number.NaN })));
    refused((writer) => writer.putEffect(effectRow("e", { child: "lone \ud800" })));
    refused((writer) => writer.putBlob(digestOf(new Uint8Array()), new Uint8Array(), 0.5));
    store.write(epoch, (writer) => writer.putActor(actorRow("m/a")));
    refused((writer) => writer.advanceActors([{ ...actorRow("m/a", { snapshot: "lone \ud800" }), from: 1 }]));
    assert.deepEqual(store.actor("m/a"), actorRow("m/a"));
    assert.equal(store.lastPosition(), 0);
  });
  promised("pages out of bounds", (store) => {
    for (const page of [{ limit: 0 }, { limit: 1001 }, { limit: 1.5 }, { limit: 1, after: -1 }, { limit: 1, after: Number.NaN }])
      for (const list of [
        () => store.actors({}, page),
        () => store.entries(page),
        () => store.journal("m/a", page),
        () => store.effects({}, page),
        () => store.startableEffects(page),
        () => store.timers({}, page),
        () => store.blobs(page),
        () => store.tombstones(page),
        () => store.deadLetters({}, page),
      ])
        assert.throws(list, RangeError);
  });
  promised("everything once the store is closed, and closing again is harmless", (store, epoch) => {
    store.close();
    store.close();
    assert.throws(() => store.epoch(), hasCode("closed"));
    assert.throws(() => store.actors({}, ALL), hasCode("closed"));
    assert.throws(() => store.beginEpoch(NOW_MS), hasCode("closed"));
    assert.throws(() => store.write(epoch, () => undefined), hasCode("closed"));
  });
}

function epochs(promised: Promised): void {
  promised("each ownership has the next epoch", (store, epoch) => {
    assert.equal(epoch, 1);
    assert.equal(store.beginEpoch(NOW_MS), 2);
    assert.equal(store.epoch(), 2);
  });
  promised("a writer whose epoch is not current does not even begin (ACT-2)", (store, epoch) => {
    store.write(epoch, (writer) => putOneOfEach(writer, "a"));
    const current = store.beginEpoch(NOW_MS);
    const before = everything(store);
    for (const stale of [epoch, current + 1, 0])
      assert.throws(() => store.write(stale, () => assert.fail("the body ran")), hasCode("not_owner"));
    assert.deepEqual(everything(store), before);
    store.write(current, (writer) => putOneOfEach(writer, "b"));
    assert.equal(store.lastPosition(), 2);
  });
}
