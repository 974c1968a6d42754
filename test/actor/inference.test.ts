/** What the compiler makes of the public API: a line with `@ts-expect-error` fails `tsc` where it compiles. */

import { expect, expectTypeOf, it } from "vitest";
import { type Engine, openEngine } from "../../src/actor/engine.ts";
import type { openActors } from "../../src/actors.ts";
import { memoryStore } from "../../src/testing/index.ts";
import { counter, handlers } from "./counter.ts";

it("inputs, events and snapshots are those of the machine", async () => {
  await using actors = await openEngine(memoryStore(), { machines: [counter], effects: handlers });
  const actor = await actors.create(counter, "a", { input: { start: 1 } });
  expectTypeOf<Parameters<typeof actor.send>[0]>().toExtend<{ type: string }>();
  const answer = await actor.send({ type: "count.add", by: 1 });
  if (answer.kind === "accepted") {
    expectTypeOf(answer.snapshot.context.count).toEqualTypeOf<number>();
    expectTypeOf(answer.seq).toEqualTypeOf<number>();
  }
  if (answer.kind === "refused") expectTypeOf(answer.code).toEqualTypeOf<string>();
  expectTypeOf(actor.getSnapshot().context.log).toEqualTypeOf<string[]>();
  expectTypeOf(actors.get(counter, "a")).toEqualTypeOf<typeof actor | undefined>();
  expectTypeOf(await actor.waitFor((snapshot) => snapshot.matches("idle"))).toEqualTypeOf<ReturnType<typeof actor.getSnapshot>>();
  expect(answer.kind).toBe("accepted");
});

it("what does not fit the machine does not compile", () => {
  const uses = async (actors: Engine) => {
    const actor = await actors.create(counter, "a", { input: { start: 1 } });
    // @ts-expect-error: the input's field is a number
    await actors.create(counter, "a", { input: { start: "1" } });
    // @ts-expect-error: the input lacks its field
    await actors.create(counter, "a", { input: {} });
    // @ts-expect-error: there is no input
    await actors.create(counter, "a", {});
    // @ts-expect-error: the machine has no such event
    await actor.send({ type: "count.sub" });
    // @ts-expect-error: the event's field is a number
    await actor.send({ type: "count.add", by: "1" });
    // @ts-expect-error: the event lacks its field
    await actor.send({ type: "count.add" });
    // @ts-expect-error: the machine has no such state
    await actor.waitFor((snapshot) => snapshot.matches("nowhere"));
    // @ts-expect-error: a key is text
    await actor.send({ type: "count.add", by: 1 }, { key: 1 });
  };
  expect(uses).toBeTypeOf("function");
});

it("openActors opens the engine", () => {
  expectTypeOf<Awaited<ReturnType<typeof openActors>>>().toEqualTypeOf<Engine>();
  expect(counter.id).toBe("counter");
});
