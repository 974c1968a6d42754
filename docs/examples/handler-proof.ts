/** The proof of two handlers: the process dies at every point of every commit and effect, and another process goes on. */

// ---
import assert from "node:assert/strict";
import { describe, test } from "node:test"; // vitest's do as well
import type { Engine } from "holdfast/actors";
import { type FaultPoint, faultPoints, type MemoryActorsOptions, memoryStore, openMemoryActors, type Probe } from "holdfast/testing";
import { letter } from "./letter.ts";
import { order } from "./order.ts";

const POINTS: readonly FaultPoint[] = ["commit.before", "commit.inside", "commit.after", "effect.before", "effect.after"];

/** Works in a process that dies when it comes to `point` for the nth time, then in the next one. False: it did not come to that. */
async function killed(
  point: FaultPoint,
  nth: number,
  options: MemoryActorsOptions,
  work: (actors: Engine) => Promise<unknown>,
): Promise<boolean> {
  const store = memoryStore(); // outlives a process
  const points = faultPoints();
  let isDead = false;
  const died = new Promise<void>((resolve) => {
    const die = () => {
      isDead = true;
      resolve();
      if (point !== "commit.after") throw new Error("killed");
    };
    points.callAt(point, die, { nth });
  });
  // The dead commit nothing, and call no handler.
  const probe: Probe = (at, subject) => {
    if (isDead && (at === "commit.before" || at === "effect.before")) throw new Error("killed");
    points.probe(at, subject);
  };
  const first = await openMemoryActors({ ...options, store, probe, closeGraceMs: 0 });
  await Promise.race([died, work(first)]);
  await first.close();
  const second = await openMemoryActors({ ...options, store });
  await work(second);
  assert.ok(second.verify().ok);
  await second.close();
  return isDead;
}

/** Tries a crash at the point: the first time that it comes, the second, and so on. */
async function everyTime(point: FaultPoint, prove: (nth: number) => Promise<boolean>): Promise<void> {
  const told = (nth: number) => (cause: unknown) => {
    throw new Error(`killed at ${point}, the time ${nth} that it came`, { cause });
  };
  let nth = 1;
  while (await prove(nth).catch(told(nth))) nth++;
  assert.ok(nth > 1, `${point} never came`);
}

for (const point of POINTS)
  describe(`handlers, where the process dies at ${point}`, () => {
    test("at least once: a card that is charged again under the same key is charged once", () =>
      everyTime(point, async (nth) => {
        const bank: { key: string; amount: number }[] = []; // the world outside: all charges that it was asked for
        const chargeCard = async ({ params, key }: { params: { amount: number }; key: string }) => {
          const isCharged = bank.some((charge) => charge.key === key);
          if (!isCharged) bank.push({ key, amount: params.amount });
          return `receipt of ${key}`;
        };
        const isDead = await killed(point, nth, { machines: [order], effects: { chargeCard } }, async (actors) => {
          const one = actors.get(order, "one") ?? (await actors.create(order, "one", { input: { total: 10 } }));
          await one.send({ type: "order.pay" }, { key: "pay" }); // asked again, it is answered as before
          await one.waitFor((snapshot) => snapshot.matches("paid"));
        });
        assert.deepEqual(
          bank.map(({ amount }) => amount),
          [10],
        );
        return isDead;
      }));

    test("at most once: a letter is never posted twice, and is unsure only where the process died", () =>
      everyTime(point, async (nth) => {
        let posted = 0;
        let state: unknown;
        const post = async () => {
          posted++;
          return null;
        };
        const isDead = await killed(point, nth, { machines: [letter], effects: { post } }, async (actors) => {
          const one = actors.get(letter, "one") ?? (await actors.create(letter, "one", { input: { to: "Ada" } }));
          state = (await one.waitFor((snapshot) => snapshot.status === "done")).value;
        });
        assert.ok(posted <= 1, `posted ${posted} times`);
        if (state === "posted") assert.equal(posted, 1);
        else assert.ok(state === "unsure" && isDead, `the letter is ${state}`);
        return isDead;
      }));
  });
