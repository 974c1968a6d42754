/** What the compiler makes of the public API: a line with `@ts-expect-error` fails `tsc` where it compiles. */

import { expect, expectTypeOf, it } from "vitest";
import { type ActorRefFrom, assign, type EmittedFrom, type EventFrom, emit, fromPromise, type InputFrom, setup } from "xstate";
import { z } from "zod";
import type { TypesOf } from "../../machines/infer.ts";
import type { MachineSchemas, MigratedActor, Migration, StoredActor } from "../../src/actor/declaration.ts";
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

const schemas = {
  input: z.strictObject({ url: z.string() }),
  context: z.strictObject({ url: z.string(), size: z.int().nullable() }),
  events: { "page.load": z.strictObject({ again: z.boolean() }), "page.forget": z.strictObject({}) },
  facts: { "page.loaded": z.strictObject({ size: z.int() }) },
  effects: { load: { params: z.strictObject({ url: z.string() }), delivery: "at_least_once", timeoutMs: 1000 } },
  delays: { patience: "remaining" },
  migrations: { "1": { to: "2", migrate: (stored) => ({ ...stored, context: { url: stored.context.address, size: null } }) } },
  refusal: (_snapshot, event) => (event.type === "page.forget" ? "nothing_to_forget" : undefined),
  supervisor: (input) => input.url,
} satisfies MachineSchemas;

const load = fromPromise(async ({ input }: { input: { url: string } }) => ({ size: input.url.length }));

const base = setup({ schemas, types: {} as TypesOf<typeof schemas>, actors: { load }, delays: { patience: 1000 } });

const page = base.createMachine({
  id: "page",
  version: "2",
  context: ({ input }) => ({ url: input.url, size: null }),
  initial: "idle",
  states: {
    idle: { after: { patience: "loading" }, on: { "page.load": "loading" } },
    loading: {
      invoke: {
        id: "loader",
        src: "load",
        input: ({ context }) => ({ url: context.url }),
        onDone: {
          target: "loaded",
          actions: [
            assign({ size: ({ event }) => event.output.size }),
            emit(({ event }) => ({ type: "page.loaded" as const, size: event.output.size })),
          ],
        },
        onError: "idle",
      },
    },
    loaded: {},
  },
});

it("a machine's events, context, facts and children are those of its schemas and its promise logic", async () => {
  expectTypeOf<EventFrom<typeof page>>().toEqualTypeOf<{ type: "page.load"; again: boolean } | { type: "page.forget" }>();
  expectTypeOf<EmittedFrom<typeof page>>().toEqualTypeOf<{ type: "page.loaded"; size: number }>();
  expectTypeOf<InputFrom<typeof page>>().toEqualTypeOf<{ url: string }>();
  await using actors = await openEngine(memoryStore(), { machines: [page] });
  const actor = await actors.create(page, "a", { input: { url: "x" } });
  await actor.send({ type: "page.load", again: false });
  const snapshot = await actor.waitFor((found) => found.matches("loaded"));
  expectTypeOf(snapshot.context.size).toEqualTypeOf<number | null>();
  expectTypeOf(snapshot.value).toEqualTypeOf<"idle" | "loading" | "loaded">();
  expectTypeOf(snapshot.children.loader).toEqualTypeOf<ActorRefFrom<typeof load> | undefined>();
  expect(snapshot.context).toEqual({ url: "x", size: 1 });
});

it("what does not fit the promise logic, the events or the facts does not compile", () => {
  const wrong = () => {
    // @ts-expect-error: there is no such logic
    base.createMachine({ context: { url: "", size: null }, invoke: { src: "lode", input: { url: "" } } });
    // @ts-expect-error: the input's field is text
    base.createMachine({ context: { url: "", size: null }, invoke: { src: "load", input: { url: 1 } } });
    // @ts-expect-error: the input is missing
    base.createMachine({ context: { url: "", size: null }, invoke: { src: "load" } });
    // @ts-expect-error: the fact's field is a number
    base.createMachine({ context: { url: "", size: null }, entry: emit({ type: "page.loaded", size: "1" }) });
    // @ts-expect-error: there is no such event
    base.createMachine({ context: { url: "", size: null }, on: { "page.lode": {} } });
  };
  expect(wrong).toBeTypeOf("function");
});

it("schemas that do not fit the engine do not compile", () => {
  const { effects, ...rest } = schemas;
  // @ts-expect-error: there is no such policy
  const delays = { ...rest, delays: { patience: "sometimes" } } satisfies MachineSchemas;
  // @ts-expect-error: there is no such delivery
  const delivery = { ...rest, effects: { load: { ...effects.load, delivery: "exactly_once" } } } satisfies MachineSchemas;
  // @ts-expect-error: a migration leads somewhere
  const migrations = { ...rest, migrations: { "1": { migrate: (stored: StoredActor) => stored } } } satisfies MachineSchemas;
  // @ts-expect-error: the facts are missing
  const facts = { input: rest.input, context: rest.context, events: rest.events } satisfies MachineSchemas;
  expect([delays, delivery, migrations, facts]).toHaveLength(4);
});

it("a migration is typed by the one who writes it", () => {
  const migration: Migration = {
    to: "2",
    migrate: (stored: StoredActor<{ address: string }>) => ({ ...stored, context: { url: stored.context.address } }),
  };
  expectTypeOf<StoredActor["timers"][number]["delayMs"]>().toEqualTypeOf<number>();
  expectTypeOf<ReturnType<Migration["migrate"]>>().toEqualTypeOf<MigratedActor>();
  expect(migration.to).toBe("2");
});
