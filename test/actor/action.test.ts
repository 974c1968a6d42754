import { describe, expect, it } from "vitest";
import { fromPromise, raise } from "xstate";
import { z } from "zod";
import { outcomesOf, reject, toRequest } from "../../src/actor/action.ts";
import type { HoldfastError } from "../../src/actor/error.ts";
import { register } from "../../src/actor/registration.ts";
import { nothing, schemas, thing } from "./thing.ts";

const params = z.strictObject({ n: z.optional(z.number()) });
const job = { params, done: "job.done", delivery: "at_least_once" };
const remind = (id?: string) => raise({ type: "go" }, { delay: "soon", ...(id ? { id } : {}) } as never);

/** It has an effect that says that it was aborted and one that cannot, promise logic of both kinds, and a timer of each kind. */
const registration = register(
  thing(
    {
      initial: "one",
      states: {
        one: { after: { soon: "two" }, entry: [remind("by id"), remind()], invoke: { id: "kid", src: "load", input: {}, onError: "two" } },
        two: { invoke: { id: "other", src: "plain" } },
      },
    },
    {
      schemas: {
        events: { ...schemas.events, go: z.strictObject({ n: z.optional(z.number()) }), "job.aborted": nothing },
        effects: {
          job: { ...job, failed: "job.failed", aborted: "job.aborted" },
          nap: job,
          load: { params, delivery: "at_least_once" },
        },
      },
      actors: { load: fromPromise(async () => 1), plain: fromPromise(async () => 2) },
      delays: { soon: 5 },
    },
  ),
);
const AFTER = "xstate.after.soon.thing.one";

function refused(type: string, given?: unknown): HoldfastError | undefined {
  try {
    toRequest(registration, type, given);
  } catch (error) {
    return error as HoldfastError;
  }
  return undefined;
}

describe("an action asks for", () => {
  it.each<[string, string, unknown, object]>([
    ["an effect, with its params", "job", { n: 1 }, { type: "effect", name: "job", params: { n: 1 } }],
    ["an effect, whose params are an empty object where none are given", "job", undefined, { type: "effect", name: "job", params: {} }],
    ["a delivery", "deliver", { to: "a/b", event: { type: "x" } }, { type: "deliver", to: "a/b", event: { type: "x" } }],
    [
      "an actor, with its input and its keys",
      "createActor",
      { machine: "a", id: "b", input: { n: 1 }, keys: ["k"] },
      { type: "create", machine: "a", id: "b", input: { n: 1 }, keys: ["k"] },
    ],
    [
      "an actor without an input and keys",
      "createActor",
      { machine: "a", id: "b" },
      { type: "create", machine: "a", id: "b", input: {}, keys: [] },
    ],
    ["the end of an effect", "cancelEffect", { effect: "nap" }, { type: "cancel", effect: "nap" }],
    ["a stop of an effect that can say so", "abortEffect", { effect: "job" }, { type: "abort", effect: "job" }],
    ["the end of a timer", "xstate.cancel", { sendId: "by id" }, { type: "cancelTimer", id: "by id" }],
    [
      "a timer of an `after`, whose event needs no schema",
      "xstate.raise",
      { id: AFTER, event: { type: AFTER }, delay: 5 },
      { type: "timer", id: AFTER, event: { type: AFTER }, delay: "soon", delayMs: 5 },
    ],
    [
      "a timer by its id, in whole milliseconds",
      "xstate.raise",
      { id: "by id", event: { type: "more" }, delay: 4.6 },
      { type: "timer", id: "by id", event: { type: "more" }, delay: "soon", delayMs: 5 },
    ],
    [
      "a timer by the type of its event, where it has no id",
      "xstate.raise",
      { id: undefined, event: { type: "go", n: 1 }, delay: 5 },
      { type: "timer", id: "", event: { type: "go", n: 1 }, delay: "soon", delayMs: 5 },
    ],
    [
      "promise logic, with its input",
      "xstate.spawnChild",
      { id: "kid", input: { n: 1 } },
      { type: "effect", name: "load", params: { n: 1 }, child: "kid" },
    ],
    [
      "promise logic, whose input is null where none is given",
      "xstate.spawnChild",
      { id: "other", input: undefined },
      { type: "effect", name: "plain", params: null, child: "other" },
    ],
  ])("%s", (_, type, given, request) => {
    expect(toRequest(registration, type, given)).toEqual(request);
  });

  it.each<[string, string, unknown]>([
    ["where it only writes a line", "xstate.log", { value: "here" }],
    ["where it ends a child, which its state does", "xstate.stopChild", { id: "kid" }],
    ["where it raises an event at once", "xstate.raise", { event: { type: "go" }, delay: undefined }],
    ["where it delivers to nobody", "deliver", { to: null }],
  ])("nothing %s", (_, type, given) => {
    expect(toRequest(registration, type, given)).toBeUndefined();
  });

  it("what it said then, whatever becomes of the object", () => {
    const given = { n: 1 };
    const event = { type: "go", n: 1 };
    const requests = [
      toRequest(registration, "job", given),
      toRequest(registration, "deliver", { to: "a/b", event }),
      toRequest(registration, "xstate.raise", { event, delay: 5 }),
      toRequest(registration, "xstate.spawnChild", { id: "kid", input: given }),
    ];
    given.n = event.n = 2;
    expect(JSON.stringify(requests)).not.toContain("2");
  });
});

describe("an action is refused, with its machine, that", () => {
  it.each<[string, string, unknown, string]>([
    ["acts on a live actor", "xstate.sendTo", {}, "live actor"],
    ["has params that are not plain JSON", "job", { at: new Date(0) }, "$.at"],
    ["delivers without params", "deliver", undefined, "`to`"],
    ["delivers to what is no address", "deliver", { to: 5, event: { type: "x" } }, "`to`"],
    ["delivers nothing", "deliver", { to: "a/b" }, "`event`"],
    ["delivers what has no type", "deliver", { to: "a/b", event: {} }, "`event`"],
    ["creates without params", "createActor", undefined, "`machine`"],
    ["creates without a machine", "createActor", { id: "b" }, "`machine`"],
    ["creates without an id", "createActor", { machine: "a" }, "`id`"],
    ["creates with keys that are no list", "createActor", { machine: "a", id: "b", keys: "k" }, "`keys`"],
    ["cancels without params", "cancelEffect", undefined, "no effect"],
    ["cancels what is no effect", "cancelEffect", { effect: "lost" }, "lost"],
    ["aborts without params", "abortEffect", undefined, "`aborted`"],
    ["aborts what is no effect", "abortEffect", { effect: "lost" }, "lost"],
    ["aborts an effect that cannot say so", "abortEffect", { effect: "nap" }, "nap"],
    ["nobody knows", "lost", {}, "neither"],
    ["requests promise logic", "load", {}, "invokes"],
    ["has params that do not fit", "job", { n: "1" }, "n "],
    ["sets a timer that no definition shows", "xstate.raise", { id: "mine", event: { type: "more" }, delay: 5 }, "of more"],
    ["sets a timer without an event that no definition shows", "xstate.raise", { id: "mine", event: undefined, delay: 5 }, "of undefined"],
    ["sets a timer to no time", "xstate.raise", { id: "by id", event: { type: "go" }, delay: "5" }, "soon"],
    ["sets a timer of no event", "xstate.raise", { id: "by id", event: undefined, delay: 5 }, "not plain JSON at $"],
    [
      "sets a timer of an event that is not plain JSON",
      "xstate.raise",
      { id: "by id", event: { type: "go", at: new Date(0) }, delay: 5 },
      "$.at",
    ],
    ["sets a timer of an event that nobody declares", "xstate.raise", { id: "by id", event: { type: "lost" }, delay: 5 }, "schemas.events"],
    [
      "sets a timer of an event that is called as what every object has",
      "xstate.raise",
      { id: "by id", event: { type: "constructor" }, delay: 5 },
      "schemas.events",
    ],
    [
      "sets a timer of an event that does not fit",
      "xstate.raise",
      { id: "by id", event: { type: "go", n: "1" }, delay: 5 },
      "does not fit",
    ],
    ["starts a child that no state invokes", "xstate.spawnChild", { id: "lost" }, "lost"],
    ["gives promise logic what is not plain JSON", "xstate.spawnChild", { id: "kid", input: { at: new Date(0) } }, "$.at"],
    ["gives promise logic what does not fit", "xstate.spawnChild", { id: "kid", input: { n: "1" } }, "does not fit"],
  ])("%s", (_, type, given, says) => {
    expect(refused(type, given)).toMatchObject({
      code: "action_invalid",
      details: { machine: "thing" },
      message: expect.stringContaining(says),
    });
  });
});

describe("the outcome of an effect", () => {
  it.each<[string, { child: string | null; name: string }, object]>([
    ["that is declared is the events that it names", { child: null, name: "job" }, { done: "job.done", failed: "job.failed" }],
    ["that a state invokes is XState's own events", { child: "kid", name: "load" }, { done: "xstate.done.actor.kid" }],
    ["that its machine has no more is nothing", { child: null, name: "lost" }, {}],
  ])("%s", (_, effect, outcomes) => {
    const found = outcomesOf(registration, effect);
    expect(found).toMatchObject(outcomes);
    if (Object.keys(outcomes).length === 0) expect(found).toEqual({});
  });

  it("of a child that is not invoked any more is that of the effect with its name", () => {
    expect(outcomesOf(registration, { child: "gone", name: "job" }).done).toBe("job.done");
  });
});

it("what is wrong with a machine has a path only where there is one", () => {
  expect(reject("context_invalid", registration, "is wrong").details).toEqual({ machine: "thing" });
  expect(reject("context_invalid", registration, "is wrong", "n").details).toEqual({ machine: "thing", path: "n" });
});
