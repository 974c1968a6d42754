/** Grounds: the stores that cases are played on. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../../src/actor/store.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { openSqliteReader, openSqliteStore } from "../../../src/store/sqlite.ts";
import type { Ground } from "./world.ts";

/** One store in memory, for all owners. */
export function memoryGround(): Ground {
  const store = memoryStore();
  return { open: () => store, reader: store, close: () => store.close() };
}

/** A database: each owner has a connection of its own, and so has whoever looks in. `file`: one that is there and stays. */
export function sqliteGround(file?: string): Ground {
  const directory = file === undefined ? mkdtempSync(join(tmpdir(), "holdfast-random-")) : undefined;
  const place = file ?? join(directory as string, "root.db");
  const stores: Store[] = [];
  const open = () => {
    const store = openSqliteStore({ file: place, synchronous: "normal" });
    stores.push(store);
    return store;
  };
  open();
  const reader = openSqliteReader({ file: place });
  return {
    open,
    reader,
    close() {
      reader.close();
      for (const store of stores) store.close();
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}
