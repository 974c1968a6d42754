/** The conformance suite of stores, continued: what is kept of each kind of row, and in which order it is listed. */

import assert from "node:assert/strict";
import type { ActorRow, Store, StoreWriter } from "../actor/store.ts";
import { ALL, actorRow, answerRow, effectRow, letterRow, NOW_MS, type Promised } from "./store-row.ts";

/** The promises about actors. */
export function actors(promised: Promised): void {
  promised("a replaced actor keeps its ordinal", (store, epoch) => {
    store.write(epoch, (writer) => ["m/a", "m/b", "m/c"].forEach((address) => void writer.putActor(actorRow(address))));
    const before = store.actors({}, ALL);
    const changed = actorRow("m/a", { seq: 9, state: "done", status: "final", epoch: 3, quarantine: { code: "c", message: "m", atMs: 1 } });
    store.write(epoch, (writer) => writer.putActor(changed));
    assert.deepEqual(store.actors({}, ALL), [{ ...changed, ordinal: before[0]?.ordinal }, before[1], before[2]]);
  });
  promised("lists are paged by a cursor, in the order of creation", (store, epoch) => {
    const addresses = Array.from({ length: 25 }, (_, index) => `m/${(index * 7) % 25}`);
    store.write(epoch, (writer) => addresses.forEach((address) => void writer.putActor(actorRow(address))));
    const seen: string[] = [];
    for (let after = 0; ; ) {
      const page = store.actors({}, { after, limit: 10 });
      seen.push(...page.map((row) => row.address));
      const last = page.at(-1);
      if (!last) break;
      assert.ok(page.length <= 10 && last.ordinal > after);
      after = last.ordinal;
    }
    assert.deepEqual(seen, addresses);
  });
  promised("a list by status or quarantine is in the order of creation, whatever its actors were before", (store, epoch) => {
    const quarantine = { code: "c", message: "m", atMs: 1 };
    const listed = () =>
      [{ status: "active" } as const, { quarantined: true }].map((filter) => store.actors(filter, ALL).map((row) => row.address));
    store.write(epoch, (writer) => ["m/a", "m/b", "m/c"].forEach((address) => void writer.putActor(actorRow(address))));
    store.write(epoch, (writer) => writer.putActor(actorRow("m/a", { status: "final" })));
    store.write(epoch, (writer) => ["m/c", "m/b"].forEach((address) => void writer.putActor(actorRow(address, { quarantine }))));
    assert.deepEqual(listed(), [
      ["m/b", "m/c"],
      ["m/b", "m/c"],
    ]);
    const fails = (writer: StoreWriter) => {
      writer.putActor(actorRow("m/b", { status: "final" }));
      throw new Error("mine");
    };
    assert.throws(() => store.write(epoch, fails), /mine/);
    assert.deepEqual(listed(), [
      ["m/b", "m/c"],
      ["m/b", "m/c"],
    ]);
    store.write(epoch, (writer) => writer.putActor(actorRow("m/a")));
    assert.deepEqual(listed(), [
      ["m/a", "m/b", "m/c"],
      ["m/b", "m/c"],
    ]);
  });
  promised("lists are filtered by machine, status, quarantine, epoch and time, in any combination", (store, epoch) => {
    const rows: ActorRow[] = [];
    for (const machine of ["m", "n"])
      for (const status of ["active", "final"] as const)
        for (const quarantine of [null, { code: "c", message: "m", atMs: 1 }])
          for (const row of [1, 2])
            rows.push(actorRow(`${machine}/${rows.length}`, { status, quarantine, epoch: row, updatedMs: 50 - rows.length }));
    store.write(epoch, (writer) => rows.forEach((row) => void writer.putActor(row)));
    for (const machine of [undefined, "m"])
      for (const status of [undefined, "active", "final"] as const)
        for (const quarantined of [undefined, true, false])
          for (const epochBelow of [undefined, 2])
            for (const updatedBeforeMs of [undefined, 45]) {
              const filter = { machine, status, quarantined, epochBelow, updatedBeforeMs };
              const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
              const expected = rows.filter(
                (row) =>
                  row.machine === (machine ?? row.machine) &&
                  row.status === (status ?? row.status) &&
                  (row.quarantine !== null) === (quarantined ?? row.quarantine !== null) &&
                  row.epoch < (epochBelow ?? Infinity) &&
                  row.updatedMs < (updatedBeforeMs ?? Infinity),
              );
              const addresses = (found: readonly ActorRow[]) => found.map((row) => row.address);
              const all = store.actors(given, ALL);
              assert.deepEqual(addresses(all), addresses(expected), JSON.stringify(filter));
              const paged = store.actors(given, { after: all[0]?.ordinal ?? 0, limit: 2 });
              assert.deepEqual(addresses(paged), addresses(expected.slice(1, 3)), JSON.stringify(filter));
            }
  });
}

/** The promises about effects. */
export function effects(promised: Promised): void {
  promised("a replaced effect keeps its ordinal, and a deleted one's is not given out again", (store, epoch) => {
    store.write(epoch, (writer) => ["x", "y"].forEach((key) => void writer.putEffect(effectRow(key))));
    const [x, y] = store.effects({}, ALL);
    store.write(epoch, (writer) => {
      writer.putEffect(effectRow("x", { state: "started", error: "{}" }));
      writer.deleteEffect("y");
      writer.putEffect(effectRow("y"));
      writer.deleteEffect("never there");
    });
    const after = store.effects({}, ALL);
    assert.deepEqual(
      after.map((row) => row.key),
      ["x", "y"],
    );
    assert.deepEqual(after[0], { ...effectRow("x", { state: "started", error: "{}" }), ordinal: x?.ordinal });
    assert.ok((after[1]?.ordinal ?? 0) > (y?.ordinal ?? Infinity));
  });
  promised("effects are listed by actor and by state, paged", (store, epoch) => {
    const states = ["open", "started", "exhausted", "unknown"] as const;
    store.write(epoch, (writer) => {
      for (const actor of ["m/a", "m/b"]) for (const state of states) writer.putEffect(effectRow(`${actor}:${state}`, { actor, state }));
    });
    const keys = (filter: Parameters<Store["effects"]>[0], page = ALL) => store.effects(filter, page).map((row) => row.key);
    assert.deepEqual(
      keys({ actor: "m/b" }),
      states.map((state) => `m/b:${state}`),
    );
    assert.deepEqual(keys({ state: "unknown" }), ["m/a:unknown", "m/b:unknown"]);
    assert.deepEqual(keys({ actor: "m/a", state: "open" }), ["m/a:open"]);
    const [first] = store.effects({ state: "open" }, { limit: 1 });
    assert.deepEqual(
      store.effects({ state: "open" }, { after: first?.ordinal ?? 0, limit: 1 }).map((row) => row.key),
      ["m/b:open"],
    );
  });
}

/** The promises about effects that may start. */
export function startable(promised: Promised): void {
  promised("open effects of unfinished actors that are not set aside may start, and come with their machines", (store, epoch) => {
    store.write(epoch, (writer) => {
      writer.putActor(actorRow("m/a", { version: "7", definition: "d7" }));
      writer.putActor(actorRow("m/over", { status: "final" }));
      writer.putActor(actorRow("m/aside", { quarantine: { code: "c", message: "m", atMs: 1 } }));
      for (const actor of ["m/over", "m/a", "m/aside", "m/none"])
        for (const state of ["started", "open", "unknown", "exhausted"] as const)
          writer.putEffect(effectRow(`${actor}:${state}`, { actor, state, child: "c" }));
      writer.putEffect(effectRow("m/a:more"));
    });
    const [first, second] = store.startableEffects(ALL);
    const machine = { machine: "m", version: "7", definition: "d7" };
    assert.deepEqual(first, { ...effectRow("m/a:open", { child: "c" }), ...machine, ordinal: first?.ordinal });
    assert.deepEqual(second, { ...effectRow("m/a:more"), ...machine, ordinal: second?.ordinal });
    assert.equal(store.startableEffects(ALL).length, 2);
    assert.deepEqual(store.startableEffects({ limit: 1 }), [first]);
    assert.deepEqual(store.startableEffects({ after: first?.ordinal ?? 0, limit: 5 }), [second]);
    assert.equal(store.effects({ state: "open" }, ALL).find((row) => row.key === "m/a:open")?.ordinal, first?.ordinal);
  });
}

/** The promises about answers, identities and dead letters. */
export function records(promised: Promised): void {
  promised("a recorded answer stays: the same one again is harmless, another is refused", (store, epoch) => {
    const answer = answerRow("m/a", "k");
    store.write(epoch, (writer) => writer.putAnswer(answer));
    store.write(epoch, (writer) => writer.putAnswer({ ...answer, atMs: NOW_MS + 1 }));
    assert.throws(() => store.write(epoch, (writer) => writer.putAnswer({ ...answer, answer: "[]" })), /another answer/);
    assert.deepEqual(store.answer("m/a", "k"), answer);
    assert.equal(store.answer("m/a", "K"), undefined);
  });
  promised("an identity has one owner for good", (store, epoch) => {
    store.write(epoch, (writer) => ["b", "a", "\u{1f600}", "\uffee", "A"].forEach((name) => void writer.putIdentity(name, "m/a")));
    store.write(epoch, (writer) => writer.putIdentity("a", "m/a"));
    assert.throws(() => store.write(epoch, (writer) => writer.putIdentity("a", "m/b")), /belongs to m\/a/);
    assert.equal(store.identity("a"), "m/a");
    assert.deepEqual(store.identities("m/a"), ["A", "a", "b", "\uffee", "\u{1f600}"]);
    assert.deepEqual(store.identities("m/b"), []);
  });
  promised("dead letters are listed in order, by receiver and by reason", (store, epoch) => {
    const rows = [letterRow("m/a"), letterRow("m/b"), letterRow("m/a", { reason: "actor_final" }), letterRow("m/a")];
    store.write(epoch, (writer) => rows.forEach((row) => void writer.putDeadLetter(row)));
    const positions = (filter: Parameters<Store["deadLetters"]>[0], page: { after?: number; limit: number } = ALL) =>
      store.deadLetters(filter, page).map((row) => row.position);
    assert.deepEqual(positions({ receiver: "m/a" }), [1, 3, 4]);
    assert.deepEqual(positions({ receiver: "m/a", reason: "actor_not_found" }), [1, 4]);
    assert.deepEqual(positions({ reason: "actor_final" }), [3]);
    assert.deepEqual(positions({}, { after: 1, limit: 2 }), [2, 3]);
  });
}
