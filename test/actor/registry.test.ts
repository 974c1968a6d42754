import { describe, expect, it } from "vitest";
import { fromPromise } from "xstate";
import { z } from "zod";
import { effect } from "../../machines/action.ts";
import { registerAll } from "../../src/actor/registry.ts";
import { thing } from "./thing.ts";

/** A machine with an effect of this name, and one that invokes promise logic. */
const asking = (name: string) => {
  const job = { params: z.looseObject({}), done: "job.done", delivery: "at_least_once" };
  return thing({}, { schemas: { effects: { [name]: job } }, actions: { [name]: effect() } });
};
const invoking = () => thing({ id: "other", invoke: { src: "load" } }, { actors: { load: fromPromise(async () => 1) } });
const mine = async () => 2;

describe("a machine of an engine", () => {
  it("has the handlers of its own effects, and no others", () => {
    const registered = registerAll([asking("job"), invoking()], { job: mine, lost: mine });
    expect(registered.get("thing")?.handlers).toEqual({ job: mine });
    expect(Object.keys(registered.get("other")?.handlers ?? {})).toEqual(["load"]);
  });

  it("has those that came with it where none are given, and lacks the others", () => {
    const registered = registerAll([asking("job"), invoking()]);
    expect(Object.keys(registered.get("thing")?.handlers ?? {})).toEqual([]);
    expect(Object.keys(registered.get("other")?.handlers ?? {})).toEqual(["load"]);
  });

  it.each<[string, string, object]>([
    ["that nobody handles", "job", {}],
    ["whose handler is no function", "job", { job: "mine" }],
    ["that nobody handles, and which is called as what every object has", "toString", {}],
  ])("is refused with an effect %s", (_, name, given) => {
    expect(() => registerAll([asking(name)], given as never)).toThrow(
      expect.objectContaining({ code: "machine_invalid", details: expect.objectContaining({ machine: "thing", path: `effects.${name}` }) }),
    );
    expect(registerAll([asking(name)], { [name]: mine }).get("thing")?.handlers).toEqual({ [name]: mine });
  });

  it("keeps the handler that came with it where what is given is none", () => {
    const registered = registerAll([invoking()], {});
    expect(registered.get("other")?.handlers.load).toBeTypeOf("function");
  });

  it("has an id of its own", () => {
    expect(() => registerAll([asking("job"), asking("job")])).toThrow(
      expect.objectContaining({ code: "machine_invalid", details: expect.objectContaining({ machine: "thing", path: "id" }) }),
    );
  });
});
