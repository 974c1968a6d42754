/** The conformance suite of stores, continued: what is kept of each kind of row, and in which order it is listed. */

import assert from "node:assert/strict";
import type { ActorRow, Store, StoreWriter } from "../actor/store.ts";
import { ALL, actorRow, digestOf, effectRow, entryRow, letterRow, type Promised } from "./store-row.ts";

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
  promised("lists are filtered by machine, status, quarantine and epoch, in any combination", (store, epoch) => {
    const rows: ActorRow[] = [];
    for (const machine of ["m", "n"])
      for (const status of ["active", "final"] as const)
        for (const quarantine of [null, { code: "c", message: "m", atMs: 1 }])
          for (const row of [1, 2]) rows.push(actorRow(`${machine}/${rows.length}`, { status, quarantine, epoch: row }));
    store.write(epoch, (writer) => rows.forEach((row) => void writer.putActor(row)));
    for (const machine of [undefined, "m"])
      for (const status of [undefined, "active", "final"] as const)
        for (const quarantined of [undefined, true, false])
          for (const epochBelow of [undefined, 2]) {
            const expected = rows.filter(
              (row) =>
                (machine === undefined || row.machine === machine) &&
                (status === undefined || row.status === status) &&
                (quarantined === undefined || (row.quarantine !== null) === quarantined) &&
                (epochBelow === undefined || row.epoch < epochBelow),
            );
            const filter = {
              ...(machine && { machine }),
              ...(status && { status }),
              ...(quarantined !== undefined && { quarantined }),
              ...(epochBelow && { epochBelow }),
            };
            const found = store.actors(filter, ALL).map((row) => row.address);
            assert.deepEqual(
              found,
              expected.map((row) => row.address),
              JSON.stringify(filter),
            );
          }
  });
}

/** The promises about the journal. */
export function journal(promised: Promised): void {
  promised("positions rise by one over all actors, and a write that failed leaves no gap", (store, epoch) => {
    const append = (actor: string, seq: number) => store.write(epoch, (writer) => writer.appendEntry(entryRow(actor, seq)));
    assert.deepEqual([append("m/a", 1), append("m/b", 1)], [1, 2]);
    const failing = (writer: StoreWriter) => {
      assert.equal(writer.appendEntry(entryRow("m/a", 2)), 3);
      throw new Error("undone");
    };
    assert.throws(() => store.write(epoch, failing), /undone/);
    assert.equal(store.lastPosition(), 2);
    assert.equal(append("m/a", 2), 3);
    assert.deepEqual(store.entries(ALL).map((row) => [row.position, row.actor, row.seq]), [[1, "m/a", 1], [2, "m/b", 1], [3, "m/a", 2]]); // biome-ignore format: a table
  });
  promised("a repeated seq of one actor is refused, also where the body goes on", (store, epoch) => {
    const repeat = (writer: StoreWriter) => writer.appendEntry(entryRow("m/a", 1, { event: "other" }));
    store.write(epoch, (writer) => writer.appendEntry(entryRow("m/a", 1)));
    assert.throws(() => store.write(epoch, repeat), /exists already/);
    store.write(epoch, (writer) => {
      assert.throws(() => repeat(writer), /exists already/);
      assert.equal(writer.appendEntry(entryRow("m/a", 2)), 2);
    });
    assert.deepEqual(
      store.entries(ALL).map((row) => row.event),
      ["{}", "{}"],
    );
  });
  promised("entries of one actor and of all are paged after a cursor", (store, epoch) => {
    store.write(epoch, (writer) => {
      for (let seq = 1; seq <= 5; seq++) for (const actor of ["m/a", "m/b"]) writer.appendEntry(entryRow(actor, seq));
    });
    assert.deepEqual(store.journal("m/b", { after: 2, limit: 2 }).map((row) => [row.seq, row.position]), [[3, 6], [4, 8]]); // biome-ignore format: a table
    assert.deepEqual(store.journal("m/b", { after: 5, limit: 2 }), []);
    assert.deepEqual(
      store.entries({ after: 4, limit: 3 }).map((row) => row.position),
      [5, 6, 7],
    );
    assert.deepEqual(store.journal("m/none", ALL), []);
    assert.equal(store.lastPosition(), 10);
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

/** The promises about answers, identities, dead letters and blobs. */
export function records(promised: Promised): void {
  promised("a recorded answer stays: the same one again is harmless, another is refused", (store, epoch) => {
    const answer = { actor: "m/a", key: "k", event: "e", answer: "{}" };
    store.write(epoch, (writer) => writer.putAnswer(answer));
    store.write(epoch, (writer) => writer.putAnswer(answer));
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
  promised("a blob is stored once under its digest and comes back whole", (store, epoch) => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
    const digest = digestOf(bytes);
    for (let time = 0; time < 2; time++) store.write(epoch, (writer) => writer.putBlob(digest, bytes));
    assert.deepEqual(store.blob(digest), bytes);
    assert.equal(store.blob(digestOf(new Uint8Array())), undefined);
    assert.throws(() => store.write(epoch, (writer) => writer.putBlob(digest, new Uint8Array([1]))), /not the SHA-256/);
    const empty = new Uint8Array();
    store.write(epoch, (writer) => writer.putBlob(digestOf(empty), empty));
    assert.deepEqual(store.blob(digestOf(empty)), empty);
  });
}
