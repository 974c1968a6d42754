/** The proof that a charge survives SIGKILL: a child process dies with its result, and this one finds the root that it left. */

// ---
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test"; // vitest's does as well
import { openActors } from "holdfast/actors";
import { runChild } from "holdfast/testing";
import { order } from "./order.ts";

test("a charge whose process was killed with its result is made again, under the same key", async () => {
  const folder = mkdtempSync(join(tmpdir(), "killed-"));
  try {
    const root = join(folder, "state");
    const child = await runChild(new URL("./kill-child.ts", import.meta.url), [root, "effect.after"]);
    assert.equal(child.signal, "SIGKILL", child.stderr);
    const charged = [...child.lines];
    const chargeCard = async ({ key }: { key: string }) => {
      charged.push(key);
      return `receipt of ${key}`;
    };
    const actors = await openActors({ root, machines: [order], effects: { chargeCard } }); // the lock of the dead is free
    const one = actors.get(order, "one");
    await one?.waitFor((snapshot) => snapshot.matches("paid"));
    assert.deepEqual(charged, ["order/one:2:0", "order/one:2:0"]);
    assert.ok(actors.verify().ok);
    await actors.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
