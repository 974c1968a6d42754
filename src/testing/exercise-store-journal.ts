/** The conformance suite of stores: the journal of each actor and of all, and the ordinary steps behind its entries. */

import assert from "node:assert/strict";
import type { ActorRow, Advance, StoreWriter } from "../actor/store.ts";
import { ALL, actorRow, appendRow, entryRow, NOW_MS, type Promised } from "./store-row.ts";

/** The promises about the ordinary step of an actor, and about what is asked of all unfinished ones. */
export function steps(promised: Promised): void {
  const step = (more: Partial<Advance> = {}): Advance => ({
    address: "m/a",
    state: "moved",
    from: (more.seq ?? 2) - 1,
    seq: 2,
    hash: "h2",
    snapshot: "[2]",
    updatedMs: NOW_MS + 2,
    ...more,
  });
  promised("an ordinary step changes its columns and no others, and keeps the ordinal", (store, epoch) => {
    const quarantine = { code: "c", message: "m", atMs: 1, event: "{}" };
    store.write(epoch, (writer) => ["m/a", "m/b"].forEach((address) => void writer.putActor(actorRow(address, { quarantine }))));
    const [a, b] = store.actors({}, ALL);
    store.write(epoch, (writer) => writer.advanceActors([{ ...step(), version: "never", epoch: 99 } as Advance]));
    const { from: _, ...columns } = step();
    assert.deepEqual(store.actors({}, ALL), [{ ...a, ...columns }, b]);
    assert.deepEqual(store.actor("m/a"), actorRow("m/a", { ...columns, quarantine }));
  });
  promised("a step from a revision at which the actor is not, or of no actor, is refused", (store, epoch) => {
    store.write(epoch, (writer) => writer.putActor(actorRow("m/a")));
    for (const from of [0, 2])
      assert.throws(() => store.write(epoch, (writer) => writer.advanceActors([step({ from })])), /not at revision/);
    assert.throws(() => store.write(epoch, (writer) => writer.advanceActors([step({ address: "m/b" })])), /not at revision/);
    assert.deepEqual(store.actor("m/a"), actorRow("m/a"));
  });
  promised("many entries and steps are written at once, in their order, each or none", (store, epoch) => {
    const actors = Array.from({ length: 41 }, (_, index) => `m/${index}`);
    store.write(epoch, (writer) => {
      for (const actor of actors) appendRow(writer, entryRow(actor, 1));
      for (const actor of actors) writer.putActor(actorRow(actor));
    });
    // Two entries of each, and a step over both.
    const rows = [2, 3].flatMap((seq) => actors.map((actor) => entryRow(actor, seq, { event: `${seq} of ${actor}` })));
    const before = rows.map((_, index) => index + 1);
    const moved = (lost?: string) =>
      actors.map((address) => step({ address, from: address === lost ? 2 : 1, seq: 3, snapshot: `[${address}]`, updatedMs: NOW_MS + 3 }));
    for (const lost of ["m/0", "m/15", "m/16", "m/40"])
      assert.throws(
        () =>
          store.write(epoch, (writer) => {
            writer.appendEntries(rows, before);
            writer.advanceActors(moved(lost));
          }),
        new RegExp(`${lost} is not at revision`),
      );
    for (const other of [0, 15, 40, 81])
      assert.throws(
        () => store.write(epoch, (writer) => writer.appendEntries(rows.with(other, entryRow("m/7", 1)), before)),
        /exists already/,
      );
    assert.equal(store.lastPosition(), 41);
    store.write(epoch, (writer) => {
      writer.appendEntries(rows, before);
      writer.advanceActors(moved());
      assert.equal(writer.lastPosition(), 123);
    });
    assert.deepEqual(
      store.entries({ after: 41, limit: 100 }),
      rows.map((row, index) => ({ ...row, position: 42 + index })),
    );
    for (const [index, address] of actors.entries()) {
      const { from: _, ...columns } = moved()[index] as Advance;
      assert.deepEqual(store.actor(address), actorRow(address, columns));
      assert.deepEqual(store.journal(address, ALL).map(({ seq }) => seq), [1, 2, 3]); // biome-ignore format: a list
    }
  });
  promised("steps of one write build on each other, and are taken back together", (store, epoch) => {
    store.write(epoch, (writer) => writer.putActor(actorRow("m/a")));
    const two = (writer: StoreWriter) => {
      writer.advanceActors([step()]);
      writer.advanceActors([step({ seq: 3, state: "again" })]);
      assert.equal(writer.actor("m/a")?.state, "again");
    };
    const fail = (writer: StoreWriter) => {
      two(writer);
      throw new Error("undone");
    };
    assert.throws(() => store.write(epoch, fail), /undone/);
    assert.equal(store.actor("m/a")?.seq, 1);
    store.write(epoch, two);
    assert.equal(store.actor("m/a")?.seq, 3);
  });
  promised("the machines of unfinished actors are listed once each, in order", (store, epoch) => {
    assert.deepEqual(store.unfinishedMachines(), []);
    const expected = [["a", "1", ""], ["a", "1", "d"], ["a", "2", ""], ["b", "1", "d"], ["\uffee", "1", "d"], ["😀", "1", "d"]]; // biome-ignore format: a table
    store.write(epoch, (writer) => {
      for (const [machine = "", version = "", definition = ""] of [...expected].reverse())
        for (const id of ["x", "y"]) writer.putActor(actorRow(`${machine}/${id}${version}${definition}`, { version, definition }));
      writer.putActor(actorRow("c/over", { status: "final" }));
      writer.putActor(actorRow("b/aside", { version: "1", definition: "d", quarantine: { code: "c", message: "m", atMs: 1 } }));
    });
    assert.deepEqual(
      store.unfinishedMachines(),
      expected.map(([machine, version, definition]) => ({ machine, version, definition })),
    );
  });
  promised("nothing is said to have changed elsewhere where only this store wrote", (store, epoch) => {
    store.write(epoch, () => undefined);
    for (let time = 1; time < 3; time++)
      store.write(epoch, (writer) => {
        assert.equal(writer.isChangedElsewhere(), false);
        writer.putActor(actorRow("m/a", { seq: time }));
      });
  });
}

/** The promises about the journal. */
export function journal(promised: Promised): void {
  promised("positions rise by one over all actors, and a write that failed leaves no gap", (store, epoch) => {
    const append = (actor: string, seq: number) => store.write(epoch, (writer) => appendRow(writer, entryRow(actor, seq)));
    assert.deepEqual([append("m/a", 1), append("m/b", 1)], [1, 2]);
    const failing = (writer: StoreWriter) => {
      assert.equal(appendRow(writer, entryRow("m/a", 2)), 3);
      throw new Error("undone");
    };
    assert.throws(() => store.write(epoch, failing), /undone/);
    assert.equal(store.lastPosition(), 2);
    assert.equal(append("m/a", 2), 3);
    assert.deepEqual(store.entries(ALL).map((row) => [row.position, row.actor, row.seq]), [[1, "m/a", 1], [2, "m/b", 1], [3, "m/a", 2]]); // biome-ignore format: a table
  });
  promised("a repeated seq of one actor is refused, at the latest with the actor's row", (store, epoch) => {
    const write = (seqs: readonly number[], putRow: (writer: StoreWriter, row: ActorRow) => void) =>
      store.write(epoch, (writer) => {
        for (const seq of seqs) appendRow(writer, entryRow("m/a", seq, { event: `${seqs}` }));
        putRow(writer, actorRow("m/a", { seq: seqs.at(-1) ?? 0 }));
      });
    const put = (writer: StoreWriter, row: ActorRow) => writer.putActor(row);
    write([1, 2, 3], put);
    for (const seqs of [[1], [2], [3], [2, 3], [3, 4], [4, 4], [4, 3]]) {
      const step = (writer: StoreWriter, row: ActorRow) => writer.advanceActors([{ ...row, from: (seqs[0] ?? 0) - 1 }]);
      for (const putRow of [put, step]) assert.throws(() => write(seqs, putRow), /exists already|not at revision/);
    }
    write([4, 5], put);
    assert.deepEqual(
      store.entries(ALL).map((row) => row.event),
      ["1,2,3", "1,2,3", "1,2,3", "4,5", "4,5"],
    );
  });
  promised("entries are found as soon as they are appended, also where what is said of the entry before is wrong", (store, epoch) => {
    store.write(epoch, (writer) => {
      writer.appendEntries([1, 2, 3].map((seq) => entryRow("m/a", seq)), [0, 99, 1]); // biome-ignore format: a list
      writer.putActor(actorRow("m/a", { seq: 3 }));
      appendRow(writer, entryRow("m/a", 4));
      assert.deepEqual(writer.journal("m/a", ALL).map(({ seq }) => seq), [1, 2, 3, 4]); // biome-ignore format: a list
    });
    assert.deepEqual(store.journal("m/a", ALL).map(({ seq }) => seq), [1, 2, 3, 4]); // biome-ignore format: a list
  });
  promised("entries of one actor and of all are paged after a cursor", (store, epoch) => {
    store.write(epoch, (writer) => {
      for (let seq = 1; seq <= 5; seq++) for (const actor of ["m/a", "m/b"]) appendRow(writer, entryRow(actor, seq));
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
