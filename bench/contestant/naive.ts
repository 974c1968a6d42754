/** XState made durable by hand: one row per actor, rewritten after each event, one transaction each. */

import { createActor } from "xstate";
import type { Bench, Synchronous } from "../bench.ts";
import { isAfter } from "../fault.ts";
import { eventAt } from "../machine/event.ts";
import { naive } from "../machine/naive.ts";
import { perSecond, timed } from "../measure.ts";
import { openPlain } from "./raw.ts";

export const NAIVE_TABLE = "CREATE TABLE actors (id TEXT PRIMARY KEY, snapshot TEXT NOT NULL)";
export const NAIVE_READ = "SELECT snapshot FROM actors WHERE id = ?";
export const NAIVE_WRITE = "UPDATE actors SET snapshot = ? WHERE id = ?";

/** `kept`: the actor stays in memory between its events. `restored`: it is made from its row for each event. */
export type Keeping = "kept" | "restored";

/** A turn: `count` actors take `rounds` events each, in turns. Events per second. */
export function naiveTurn(bench: Bench, count: number, rounds: number, synchronous: Synchronous, keeping: Keeping): number {
  const file = bench.place.fresh("naive.db");
  const db = openPlain(file, synchronous);
  db.exec(NAIVE_TABLE);
  const read = db.prepare<[string], { snapshot: string }>(NAIVE_READ);
  const write = db.prepare<[string, string]>(NAIVE_WRITE);
  const insert = db.prepare<[string, string]>("INSERT INTO actors (id, snapshot) VALUES (?, ?)");
  const actors = Array.from({ length: count }, (_, index) => ({ id: `actor-${index}`, actor: createActor(naive).start() }));
  db.transaction(() => {
    for (const { id, actor } of actors) insert.run(id, JSON.stringify(actor.getPersistedSnapshot()));
  })();
  const ms = timed(() => {
    for (let round = 0; round < rounds; round++)
      for (const { id, actor } of actors) {
        if (keeping === "kept") {
          actor.send(eventAt(round));
          write.run(JSON.stringify(actor.getPersistedSnapshot()), id);
          continue;
        }
        const restored = createActor(naive, { snapshot: JSON.parse((read.get(id) as { snapshot: string }).snapshot) }).start();
        restored.send(eventAt(round));
        write.run(JSON.stringify(restored.getPersistedSnapshot()), id);
        restored.stop();
      }
  });
  const wrong = actors.filter(({ id }) => !isAfter((read.get(id) as { snapshot: string }).snapshot, rounds));
  bench.faults.expect(`naive, ${count} actors, ${keeping}: actors at another value`, wrong.length, 0);
  db.close();
  bench.place.remove(file);
  return perSecond(count * rounds, ms);
}
