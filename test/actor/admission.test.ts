import { expect, it } from "vitest";
import type { Store } from "../../src/actor/store.ts";
import { counter, make, open, place, STORES } from "./counter.ts";
import { harbour, NEW, sail, shipOf } from "./ship.ts";

/** Changes an actor's row without the engine. */
function change(store: Store, address: string, changed: object): void {
  store.write(store.epoch(), (writer) => {
    const row = writer.actor(address);
    if (row) writer.putActor({ ...row, ...changed });
  });
}

// In memory: SQLite takes an id only when it writes a row for the first time.
it.each([
  ["of another id", { id: "b" }],
  ["of another hash than its last entry", { hash: "0".repeat(64) }],
])("an actor whose row is %s is set aside when it is read", async (_, changed) => {
  const { store } = place();
  await make(await open(store));
  change(store, "counter/a", changed);
  const engine = await open(store);
  expect(await engine.get(counter, "a")?.send({ type: "count.add", by: 1 })).toMatchObject({ code: "actor_quarantined" });
  expect(store.actor("counter/a")).toMatchObject({ seq: 1, quarantine: { code: "snapshot_damaged" } });
});

it.each(STORES)("an actor of an unknown version is parked without a look at its snapshot (%s)", async (kind) => {
  const { store } = place(kind);
  await harbour(store, { a: [] });
  change(store, "ship/a", { snapshot: "{" });
  const unmigrated = shipOf({ ...NEW, version: "2" });
  const engine = await sail(store, unmigrated);
  expect(await engine.get(unmigrated, "a")?.send({ type: "rest" } as never)).toMatchObject({ code: "machine_version_unknown" });
  expect(store.actor("ship/a")?.quarantine).toBeNull();
  await engine.close();
});
