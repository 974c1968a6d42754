/** The conformance suite of stores, continued: timers, and what the beginning of an ownership does to them (ACT-8). */

import assert from "node:assert/strict";
import type { Store, TimerRow } from "../actor/store.ts";
import { ALL, actorRow, appendRow, entryRow, everything, NOW_MS, type Promised, timerRow } from "./store-row.ts";

const HOUR_MS = 3_600_000;

/** The promises about timers. */
export function timers(promised: Promised): void {
  promised("a replaced timer keeps its ordinal, and a deleted one's is not given out again", (store, epoch) => {
    put(store, epoch, timerRow("x"), timerRow("y"));
    const [x, y] = store.timers({}, ALL);
    const changed = timerRow("x", { state: "parked", dueMs: 5 });
    store.write(epoch, (writer) => {
      writer.putTimer(changed);
      writer.deleteTimer("y");
      writer.putTimer(timerRow("y"));
      writer.deleteTimer("never there");
    });
    const [first, second] = store.timers({}, ALL);
    assert.deepEqual(first, { ...changed, ordinal: x?.ordinal });
    assert.deepEqual(store.timer("x"), changed);
    assert.ok(second && y && second.ordinal > y.ordinal);
    assert.equal(store.timer("z"), undefined);
  });
  promised("timers are listed by actor, paged", (store, epoch) => {
    put(store, epoch, ...["1", "2", "3"].flatMap((key) => ["m/a", "m/b"].map((actor) => timerRow(`${actor}:${key}`, { actor }))));
    const [first] = store.timers({ actor: "m/b" }, { limit: 1 });
    const rest = store.timers({ actor: "m/b" }, { after: first?.ordinal ?? 0, limit: 5 });
    assert.deepEqual([first, ...rest].map((row) => row?.key), ["m/b:1", "m/b:2", "m/b:3"]); // biome-ignore format: one line says it
    assert.equal(store.timers({}, ALL).length, 6);
  });
  promised("due timers come in the order of their times, then of their creation, at most so many, and no parked ones", (store, epoch) => {
    const due = (key: string, dueMs: number, more: Partial<TimerRow> = {}) => timerRow(key, { dueMs, ...more });
    put(store, epoch, due("late", 30), due("a", 20), due("parked", 1, { state: "parked" }), due("b", 20), due("early", 10));
    const keys = (untilMs: number, limit: number) => store.dueTimers(untilMs, limit).map((row) => row.key);
    assert.deepEqual(keys(20, 1000), ["early", "a", "b"]);
    assert.deepEqual(keys(20, 2), ["early", "a"]);
    assert.deepEqual(keys(9, 1000), []);
    assert.deepEqual(keys(30, 1000), ["early", "a", "b", "late"]);
    for (const limit of [0, 1001, 1.5]) assert.throws(() => store.dueTimers(20, limit), RangeError);
  });
  promised("the next due time is that of the first armed timer, and none where none is armed", (store, epoch) => {
    assert.equal(store.nextDueMs(), undefined);
    put(store, epoch, timerRow("parked", { dueMs: 1, state: "parked" }));
    assert.equal(store.nextDueMs(), undefined);
    put(store, epoch, timerRow("late", { dueMs: 30 }), timerRow("early", { dueMs: 20 }));
    assert.equal(store.nextDueMs(), 20);
    store.write(epoch, (writer) => writer.deleteTimer("early"));
    assert.equal(store.nextDueMs(), 30);
  });
}

/** The promises about the beginning of an ownership. */
export function openings(promised: Promised): void {
  const POLICIES = ["absolute", "remaining", "restart"] as const;
  /** Three timers, set at 1000 with 500 to go, and an entry at 1200, the last commit. */
  const running = (store: Store, epoch: number) =>
    store.write(epoch, (writer) => {
      appendRow(writer, entryRow("m/a", 1, { atMs: 1000 }));
      for (const policy of POLICIES) writer.putTimer(timerRow(policy, { policy, delayMs: 500, dueMs: 1500 }));
      appendRow(writer, entryRow("m/a", 2, { atMs: 1200 }));
    });
  const dues = (store: Store) => POLICIES.map((policy) => store.timer(policy)?.dueMs);

  promised("time without an owner counts for absolute timers, not for remaining ones, and restart ones start anew", (store, epoch) => {
    running(store, epoch);
    store.beginEpoch(9000);
    assert.deepEqual(dues(store), [1500, 9300, 9500]);
  });
  promised("a clock that jumped, forward or back, changes nothing of what a remaining timer has left", (store, epoch) => {
    running(store, epoch);
    store.beginEpoch(200);
    assert.deepEqual(dues(store), [1500, 500, 700]);
    store.beginEpoch(NOW_MS);
    assert.deepEqual(dues(store), [1500, NOW_MS + 300, NOW_MS + 500]);
  });
  promised("an ownership that ends before its first entry counts from its own beginning", (store, epoch) => {
    running(store, epoch);
    for (const atMs of [9000, 9100, 50_000]) {
      store.beginEpoch(atMs);
      assert.deepEqual(dues(store), [1500, atMs + 300, atMs + 500]);
    }
  });
  promised("an entry of the new ownership is the last commit from then on", (store, epoch) => {
    running(store, epoch);
    const next = store.beginEpoch(9000);
    store.write(next, (writer) => appendRow(writer, entryRow("m/a", 3, { atMs: 9100 })));
    store.beginEpoch(20_000);
    assert.deepEqual(dues(store), [1500, 20_200, 20_500]);
  });
  promised("an ownership that ended in order was there until then", (store, epoch) => {
    running(store, epoch);
    store.write(epoch, (writer) => writer.rest(1300));
    store.beginEpoch(9000);
    assert.deepEqual(dues(store), [1500, 9200, 9500]);
    // Not the next one, which did not.
    store.beginEpoch(20_000);
    assert.deepEqual(dues(store), [1500, 20_200, 20_500]);
  });
  promised("a last entry that was deleted still says when the last commit was, until a later one does", (store, epoch) => {
    running(store, epoch);
    const end = (name: string, seq: number, at: number) =>
      store.write(epoch, (writer) => {
        writer.putActor(actorRow(name, { status: "final", seq }));
        appendRow(writer, entryRow(name, seq, { atMs: at }));
      });
    const remove = (owner: number, ...names: string[]) =>
      store.write(owner, (writer) => names.forEach((name) => void writer.deleteActor(name, 8000)));
    end("m/b", 1, 1300);
    end("m/c", 1, 1400);
    remove(epoch, "m/c", "m/b");
    assert.throws(() => store.write(epoch, (writer) => [writer.deleteActor("m/a", 1)]));
    const next = store.beginEpoch(9000);
    assert.deepEqual(dues(store), [1500, 9100, 9500]);
    store.write(next, (writer) => {
      writer.putActor(actorRow("m/d", { status: "final" }));
      appendRow(writer, entryRow("m/d", 1, { atMs: 9010 }));
    });
    remove(next, "m/d");
    store.write(next, (writer) => {
      writer.putActor(actorRow("m/e", { status: "final" }));
      appendRow(writer, entryRow("m/e", 1, { atMs: 9020 }));
    });
    const third = store.beginEpoch(20_000);
    assert.deepEqual(dues(store), [1500, 20_080, 20_500]);
    // One of an ownership before says nothing of this one.
    remove(third, "m/e");
    store.beginEpoch(30_000);
    assert.deepEqual(dues(store), [1500, 30_080, 30_500]);
  });
  promised("a remaining timer that was overdue already is due at once", (store, epoch) => {
    running(store, epoch);
    store.write(epoch, (writer) => appendRow(writer, entryRow("m/a", 3, { atMs: 1700 })));
    store.beginEpoch(9000);
    assert.deepEqual(dues(store), [1500, 9000, 9500]);
  });
  promised("parked timers are armed again", (store, epoch) => {
    put(store, epoch, timerRow("parked", { state: "parked", dueMs: 7 }), timerRow("armed"));
    store.beginEpoch(NOW_MS);
    assert.deepEqual(store.timer("parked"), timerRow("parked", { dueMs: 7 }));
    assert.deepEqual(store.timer("armed"), timerRow("armed"));
  });
  promised("timers keep their ordinals over it, and nothing else changes but the epoch", (store, epoch) => {
    running(store, epoch);
    const before = everything(store) as { timers: (TimerRow & { ordinal: number })[] };
    store.beginEpoch(9000);
    const moved = [1500, 9300, 9500];
    const expected = before.timers.map((row, index) => ({ ...row, dueMs: moved[index] }));
    assert.deepEqual(everything(store), { ...before, epoch: epoch + 1, timers: expected });
  });
  promised("times at the bounds of what can be stored stop nothing", (store, epoch) => {
    const most = Number.MAX_SAFE_INTEGER;
    const far = (key: string, more: Partial<TimerRow>) => timerRow(key, { dueMs: most, delayMs: most, ...more });
    put(store, epoch, far("absolute", {}), far("remaining", { policy: "remaining" }), far("restart", { policy: "restart" }));
    put(store, epoch, timerRow("past", { policy: "remaining", dueMs: -most }), timerRow("back", { policy: "restart", delayMs: -most }));
    store.beginEpoch(NOW_MS + HOUR_MS);
    assert.deepEqual(dues(store), [most, most, most]);
    assert.deepEqual([store.timer("past")?.dueMs, store.timer("back")?.dueMs], [NOW_MS + HOUR_MS, NOW_MS + HOUR_MS]);
  });
  promised("a time that is no whole number is refused, and no epoch begins", (store, epoch) => {
    for (const atMs of [1.5, Number.NaN, Infinity]) assert.throws(() => store.beginEpoch(atMs), /whole number/);
    assert.equal(store.epoch(), epoch);
  });
}

function put(store: Store, epoch: number, ...rows: TimerRow[]): void {
  store.write(epoch, (writer) => rows.forEach((row) => void writer.putTimer(row)));
}
