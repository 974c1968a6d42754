/** Random work, with storage errors and reopenings at random points, held against a model of what was acknowledged. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ActorRef } from "../../src/actor/actor-ref.ts";
import { type Engine, openEngine } from "../../src/actor/engine.ts";
import type { EffectCall } from "../../src/actor/handler.ts";
import type { Store } from "../../src/actor/store.ts";
import { faultPoints } from "../../src/testing/index.ts";
import { counter, handlers, place, STORES } from "./counter.ts";

const IDS = ["a", "b", "c"];
const id = fc.constantFrom(...IDS);
const by = fc.integer({ min: 1, max: 9 });

type Send =
  | { readonly kind: "add" | "work" | "once"; readonly id: string; readonly by: number }
  | { readonly kind: "tell"; readonly id: string; readonly to: string; readonly by: number };
type Op = readonly Send[] | "reopen" | "storage error" | "recover";

const send: fc.Arbitrary<Send> = fc.oneof(
  fc.record({ kind: fc.constantFrom("add" as const, "work" as const, "once" as const), id, by }),
  fc.record({ kind: fc.constant("tell" as const), id, to: fc.constantFrom(...IDS, "nobody"), by }),
);
const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 6, arbitrary: fc.array(send, { minLength: 1, maxLength: 5 }) },
  { weight: 1, arbitrary: fc.constantFrom("reopen" as const, "storage error" as const, "recover" as const) },
);

/** The seed to repeat a run with: `HOLDFAST_SEED=… vitest run test/actor/random.test.ts`. */
const seed = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = { memory: 150, sqlite: 40 };

function eventOf(sent: Send) {
  switch (sent.kind) {
    case "add":
      return { type: "count.add" as const, by: sent.by };
    case "work":
      return { type: "work.start" as const, by: sent.by };
    case "once":
      return { type: "once.start" as const, by: sent.by };
    case "tell":
      return { type: "count.tell" as const, to: `counter/${sent.to}`, by: sent.by };
  }
}

/** What acknowledged work must come to: what is certain, what at-most-once effects may add, and what reached nobody. */
class Model {
  certain = 0;
  readonly perhaps = new Map<string, number>();
  lost = 0;

  accepted(sent: Send, seq: number): void {
    if (sent.kind === "once") this.perhaps.set(`counter/${sent.id}:${seq}:0`, sent.by);
    else this.certain += sent.kind === "tell" && sent.to !== "nobody" ? 2 * sent.by : sent.by;
    if (sent.kind === "tell" && sent.to === "nobody") this.lost++;
  }
}

async function run(store: Store, ops: readonly Op[]): Promise<void> {
  const points = faultPoints();
  const model = new Model();
  const ran = new Map<string, number>();
  const once = async ({ key, params }: EffectCall) => {
    ran.set(key, (ran.get(key) ?? 0) + 1);
    return { by: params.by };
  };
  const opened = () => openEngine(store, { machines: [counter], effects: { ...handlers, once }, probe: points.probe });
  let engine = await opened();
  const actor = (name: string) => engine.get(counter, name) as ActorRef<typeof counter>;
  for (const name of IDS) await engine.create(counter, name, { input: { start: 0 } });
  for (const step of ops) {
    if (step === "storage error") points.throwAt("commit.inside", new Error("disk"));
    else if (step === "recover") await engine.recover().catch(() => undefined);
    else if (step === "reopen") {
      await engine.close();
      // A storage error that is still planned strikes the recovery: then the next opening converges.
      engine = await opened().catch(opened);
    } else {
      const answers = await Promise.allSettled(step.map((sent) => actor(sent.id).send(eventOf(sent))));
      answers.forEach((answer, index) => {
        if (answer.status === "fulfilled" && answer.value.kind === "accepted") model.accepted(step[index] as Send, answer.value.seq);
      });
    }
  }
  await engine.close();
  engine = await opened().catch(opened);
  try {
    for (const name of IDS) await finished(engine, actor(name));
    const total = IDS.reduce((sum, name) => sum + actor(name).getSnapshot().context.count, 0);
    const done = results(store, "once.done");
    const sum = [...done].reduce((all, key) => all + (model.perhaps.get(key) ?? Number.NaN), 0);
    expect(engine.verify().faults).toEqual([]);
    expect(total).toBe(model.certain + sum);
    expect(engine.effects()).toEqual([]);
    expect(engine.deadLetters({}, { limit: 1000 }).length).toBe(model.lost);
    expect([...ran.values()].filter((times) => times > 1)).toEqual([]);
    expect([...done].filter((key) => !ran.has(key))).toEqual([]);
  } finally {
    await engine.close();
  }
}

async function finished(engine: Engine, actor: ActorRef<typeof counter>): Promise<void> {
  for (;;) {
    const lost = new AbortController();
    const unsubscribe = engine.feed.subscribe(actor.address, (signal) => signal.kind === "lost" && lost.abort());
    try {
      await actor.waitFor((snapshot) => snapshot.matches("idle"), { signal: lost.signal });
      return;
    } catch (error) {
      if (!lost.signal.aborted) throw error;
      await engine.recover();
    } finally {
      unsubscribe();
    }
  }
}

/** The effects whose outcome of this type is in the journal; each at most once (ACT-6). */
function results(store: Store, type: string): Set<string> {
  const keys = IDS.flatMap((name) => store.journal(`counter/${name}`, { limit: 1000 }))
    .map((row) => JSON.parse(row.event) as { type: string; effect: string })
    .filter((event) => event.type === type)
    .map((event) => event.effect);
  expect(new Set(keys).size).toBe(keys.length);
  return new Set(keys);
}

describe.each(STORES)("any sequence of work, storage errors and reopenings (%s)", (kind) => {
  it("comes to what was acknowledged, and verifies", async () => {
    console.log(`seed ${seed}, ${RUNS[kind]} runs over the ${kind} store`);
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 25 }), (ops) => run(place(kind).store, ops)),
      { seed, numRuns: RUNS[kind] },
    );
  });
});
