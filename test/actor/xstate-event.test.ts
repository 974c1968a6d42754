import { describe, expect, it } from "vitest";
import { createActor, createMachine, fromPromise } from "xstate";
import { afterEvent, doneEvent, errorEvent, isAfterEvent } from "../../src/actor/xstate-event.ts";

describe("the names of XState's own events", () => {
  it.each<[string, () => Promise<unknown>, string]>([
    ["is done", async () => 1, doneEvent("child")],
    ["failed", () => Promise.reject(new Error("no")), errorEvent("child")],
  ])("are those that it sends: of a child that %s", async (_, work, type) => {
    const child = fromPromise(work);
    const seen = Promise.withResolvers<string>();
    const note = { actions: ({ event }: { event: { type: string } }) => seen.resolve(event.type) };
    createActor(createMachine({ invoke: { id: "child", src: child, onDone: note, onError: note } })).start();
    expect(await seen.promise).toBe(type);
  });

  it("are those that it knows: of a delay in a state", () => {
    const machine = createMachine({ id: "m", initial: "one", states: { one: { after: { 10: "two" } }, two: {} } });
    const [type] = machine.states.one?.transitions.keys() ?? [];
    expect([type, isAfterEvent(type ?? "")]).toEqual([afterEvent("10", "m.one"), true]);
  });

  it.each(["go", "xstate.done.actor.a", "go.xstate.after."])("are told from others: %s is of no delay", (type) => {
    expect(isAfterEvent(type)).toBe(false);
  });
});
