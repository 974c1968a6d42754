import { describe, expect, it } from "vitest";
import { fromPromise, setup } from "xstate";
import { z } from "zod";
import { checkMachine } from "../../src/actor/machine-check.ts";
import { nothing, schemas, thing } from "./thing.ts";

const job = { params: nothing, done: "job.done", delivery: "at_least_once" };
const unknown = z.strictObject({ effect: z.string(), name: z.string() });
const { events } = schemas;

/** What is found in these schemas, in a machine of version 3 that invokes `load` and has a delay `soon`. */
function found(given: object): string[] {
  const parts = { delays: { soon: 5 }, actors: { load: fromPromise(async () => 1) } };
  return checkMachine(thing({ version: "3", invoke: { src: "load" } }, { ...parts, schemas: given })).map(({ path }) => path);
}
const ofJob = (more: object) => ({ effects: { job: { ...job, ...more } } });
const ofLoad = (more: object) => ({ effects: { load: { params: z.any(), delivery: "at_least_once", ...more } } });

describe("schemas have no problem", () => {
  it.each<[string, object]>([
    ["with nothing but what they must have", {}],
    ["with functions for a refusal and a supervisor", { refusal: () => undefined, supervisor: () => null }],
    ["with a policy for a delay", { delays: { soon: "absolute" } }],
    ["with another policy for a delay", { delays: { soon: "remaining" } }],
    ["with a fact that has a type and a stamp of its own", { facts: { told: z.object({ type: z.string(), stamp: z.string() }) } }],
    ["with a fact that is called as an entry of the engine's", { facts: { "engine.migrated": nothing } }],
    ["with an event whose schema has no shape", { events: { go: z.any() } }],
    ["with an event whose schema has a shape of another library", { events: { go: Object.assign(z.any(), { shape: "type" }) } }],
    ["with an effect", ofJob({})],
    ["with an effect that names all of its events", ofJob({ failed: "job.failed", aborted: "go" })],
    [
      "with an effect at all of its lowest limits",
      ofJob({ attempts: 1, concurrency: 1, timeoutMs: 0, backoffMs: 0, backoffFactor: 1, backoffLimitMs: 0, abortGraceMs: 0 }),
    ],
    ["with an effect that may take as long as it likes", ofJob({ timeoutMs: null })],
    [
      "with an effect that is delivered at most once",
      { events: { ...events, "effect.unknown": unknown }, ...ofJob({ delivery: "at_most_once" }) },
    ],
    [
      "with an effect that is delivered at most once, and says so twice",
      { events: { ...events, "effect.unknown": unknown }, ...ofJob({ delivery: "at_most_once", attempts: 1 }) },
    ],
    ["with limits of invoked promise logic", ofLoad({ timeoutMs: 5 })],
    ["with migrations up to its version", { migrations: { 1: { to: "2", migrate: String }, 2: { to: "3", migrate: String } } }],
  ])("%s", (_, given) => {
    expect(found(given)).toEqual([]);
  });
});

describe("schemas have one problem, in its place,", () => {
  it.each<[string, object, string]>([
    ["without an input", { input: undefined }, "input"],
    ["with an input that is no schema", { input: {} }, "input"],
    ["with a context that is null", { context: null }, "context"],
    ["with facts that are null", { facts: null }, "facts"],
    ["with facts that are a list", { facts: [nothing] }, "facts"],
    ["with events that are text", { events: "go" }, "events"],
    ["with a fact that is no schema", { facts: { told: true } }, "facts.told"],
    ["with a type that is empty", { facts: { "": nothing } }, "facts."],
    ["with a type that is a pattern", { events: { ...events, "go.*": nothing } }, "events.go.*"],
    ["with an event that the engine writes by itself", { events: { ...events, "engine.migrated": nothing } }, "events.engine.migrated"],
    ["with an event that declares its type", { events: { ...events, go: z.object({ type: z.string() }) } }, "events.go"],
    ["with an event that declares a stamp", { events: { ...events, go: z.object({ stamp: z.string() }) } }, "events.go"],
    ["with a refusal that is text", { refusal: "no" }, "refusal"],
    ["with a supervisor that is null", { supervisor: null }, "supervisor"],
    ["with effects that are a list", { effects: [] }, "effects"],
    ["with effects that are null", { effects: null }, "effects"],
    ["with delays that are a list", { delays: [] }, "delays"],
    ["with migrations that are text", { migrations: "1" }, "migrations"],
    ["with a policy for a delay that is none", { delays: { constructor: "restart" } }, "delays.constructor"],
    ["with a policy that is none", { delays: { soon: "never" } }, "delays.soon"],
    ["with an effect that is null", { effects: { job: null } }, "effects.job"],
    ["with an effect called as an action of the engine", { effects: { deliver: job } }, "effects.deliver"],
    ["with an effect whose params have no schema", ofJob({ params: {} }), "effects.job.params"],
    ["with an effect of an unknown part", ofJob({ retries: 1 }), "effects.job.retries"],
    ["with an effect without an outcome", ofJob({ done: undefined }), "effects.job.done"],
    ["with an effect whose result nobody declares", ofJob({ done: "lost" }), "effects.job"],
    ["with an effect whose result is called as what every object has", ofJob({ done: "constructor" }), "effects.job"],
    ["with an effect whose failure nobody declares", ofJob({ failed: "lost" }), "effects.job"],
    ["with an effect whose end nobody declares", ofJob({ aborted: "lost" }), "effects.job"],
    ["with an effect without a delivery", ofJob({ delivery: undefined }), "effects.job.delivery"],
    ["with an effect at most once whose loss nobody is told", ofJob({ delivery: "at_most_once" }), "effects.job"],
    [
      "with an effect at most once that is tried twice",
      { events: { ...events, "effect.unknown": unknown }, ...ofJob({ delivery: "at_most_once", attempts: 2 }) },
      "effects.job.attempts",
    ],
    ["with a result of invoked promise logic", ofLoad({ done: "job.done" }), "effects.load.done"],
    ["with a failure of invoked promise logic", ofLoad({ failed: "job.failed" }), "effects.load.failed"],
    ["with an end of invoked promise logic", ofLoad({ aborted: "lost" }), "effects.load.aborted"],
    ...(["attempts", "concurrency"] as const).flatMap((limit) =>
      [0, 1.5, "2", null].map((value): [string, object, string] => [
        `with ${limit} of ${JSON.stringify(value)}`,
        ofJob({ [limit]: value }),
        `effects.job.${limit}`,
      ]),
    ),
    ...(["timeoutMs", "backoffMs", "backoffLimitMs", "abortGraceMs"] as const).flatMap((limit) =>
      [-1, Number.POSITIVE_INFINITY, "5"].map((value): [string, object, string] => [
        `with ${limit} of ${value}`,
        ofJob({ [limit]: value }),
        `effects.job.${limit}`,
      ]),
    ),
    ["with a wait of null", ofJob({ backoffMs: null }), "effects.job.backoffMs"],
    ["with waits that become shorter", ofJob({ backoffFactor: 0.9 }), "effects.job.backoffFactor"],
    ["with waits that become endless", ofJob({ backoffFactor: Number.POSITIVE_INFINITY }), "effects.job.backoffFactor"],
    ["with a migration without a function", { migrations: { 2: { to: "3" } } }, "migrations.2.migrate"],
    ["with a migration from no version", { migrations: { old: { to: "3", migrate: String } } }, "migrations.old"],
    ["with a migration to no version", { migrations: { 1: { migrate: String } } }, "migrations.1.to"],
    ["with a migration to its own version", { migrations: { 1: { to: "1", migrate: String } } }, "migrations.1.to"],
    ["with a migration beyond", { migrations: { 1: { to: "4", migrate: String } } }, "migrations.1.to"],
    ["with a migration beside", { migrations: { 1: { to: "3.0", migrate: String } } }, "migrations.1.to"],
    ["with a migration to where none leads on", { migrations: { 1: { to: "2", migrate: String } } }, "migrations.1.to"],
  ])("%s", (_, given, path) => {
    expect(found(given)).toEqual([`schemas.${path}`]);
  });

  it.each(["4", "3.0"])("for each step of a way that misses the machine's own version by %s", (beyond) => {
    const migrations = { 1: { to: beyond, migrate: String }, [beyond]: { to: "5", migrate: String } };
    expect(found({ migrations }).sort()).toEqual(["schemas.migrations.1.to", `schemas.migrations.${beyond}.to`]);
  });

  it.each([[undefined], [null], [[]], ["schemas"]])("where they are %j", (given) => {
    const machine = setup({ schemas: given } as never).createMachine({ id: "thing", version: "1" });
    expect(checkMachine(machine as never)).toMatchObject([{ path: "schemas" }]);
  });
});

describe("what is said of schemas", () => {
  const said = (given: object) => checkMachine(thing({ version: "3" }, { schemas: given }))[0];

  it("tells what is missing from what is something else", () => {
    const missing = expect.stringContaining("missing");
    for (const part of ["input", "events"])
      expect([said({ [part]: undefined }), said({ [part]: 5 })]).toMatchObject([
        { path: `schemas.${part}`, problem: missing },
        { path: `schemas.${part}`, problem: expect.not.stringContaining("missing") },
      ]);
  });

  it("shows the form of one schema, or that of several by their types", () => {
    const byType = expect.stringContaining('"a.type"');
    expect([said({ facts: undefined }), said({ facts: 5 })]).toMatchObject([{ remedy: byType }, { remedy: byType }]);
    expect([said({ context: undefined }), said({ context: 5 })]).not.toContainEqual(expect.objectContaining({ remedy: byType }));
  });

  it("names the parts of an effect where it has another", () => {
    expect(said(ofJob({ retries: 1 }))?.remedy).toContain("attempts");
  });

  it("names the version that a migration may lead to", () => {
    const remedies = [{ to: "4" }, { to: "2" }].map((one) => said({ migrations: { 1: { migrate: String, ...one } } })?.remedy);
    expect(remedies).toEqual([expect.stringMatching(/\b3\b/), expect.stringMatching(/"2".*\b3\b/)]);
  });
});
