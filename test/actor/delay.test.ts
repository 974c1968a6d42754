import { describe, expect, it } from "vitest";
import { assign, raise, sendTo } from "xstate";
import { toRequest } from "../../src/actor/action.ts";
import { checkedDelays, DELAY_LIMIT_MS, notDelay, setTimers } from "../../src/actor/delay.ts";
import { register } from "../../src/actor/registration.ts";
import { inState, thing } from "./thing.ts";

describe("a delay", () => {
  it.each([0, 0.5, 2 ** 31, DELAY_LIMIT_MS])("may be %d ms", (ms) => {
    expect(notDelay(ms)).toBeUndefined();
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, DELAY_LIMIT_MS + 1, "5", undefined, null, 5n])("may not be %s", (ms) => {
    expect(notDelay(ms)).toContain("milliseconds");
  });
});

it("the longest delay is a hundred years", () => {
  expect(DELAY_LIMIT_MS).toBe(36_500 * 86_400_000);
});

describe("a place that sets a timer", () => {
  const timersOf = (state: object, parts: object = {}) => [...setTimers(inState(state, { delays: { soon: 5, late: 9 }, ...parts }))];
  const soon = (event: unknown, id?: unknown) => raise(event as never, { delay: "soon", id } as never);

  it("is an `after`, known by its delay and its state", () => {
    expect(timersOf({ after: { soon: "two", late: "two" } })).toEqual(
      ["soon", "late"].map((delay) => ({
        path: `thing.one.after.${delay}`,
        key: `xstate.after.${delay}.thing.one`,
        delay,
        raise: undefined,
      })),
    );
  });

  it.each<[string, unknown, object]>([
    ["by the type of its event", soon({ type: "go" }), { key: "go", raise: { type: "go", id: undefined } }],
    ["by its id", soon({ type: "go" }, "mine"), { key: "mine", raise: { type: "go", id: "mine" } }],
    ["by its id, whatever its event", soon(() => ({ type: "go" }), "mine"), { key: "mine", raise: { type: undefined, id: "mine" } }],
    ["by nothing, where a function makes its event", soon(() => ({ type: "go" })), { key: undefined }],
    ["by nothing, where its id is no text", soon({ type: "go" }, 5), { key: undefined, raise: { type: "go", id: 5 } }],
    ["by nothing, where it has no event", soon(null), { key: undefined }],
    ["by nothing, where its event is absent", soon(undefined), { key: undefined }],
  ])("is a delayed raise, known %s", (_, action, timer) => {
    expect(timersOf({ entry: action })).toMatchObject([{ path: "thing.one.entry", delay: "soon", ...timer }]);
    expect(timersOf({}, { actions: { named: action } })).toMatchObject([{ path: "setup.actions.named", delay: "soon", ...timer }]);
  });

  it("is no other action", () => {
    const delayed = Object.assign(() => {}, { type: "mine", delay: "soon" });
    const actions = ["named", assign({}), raise({ type: "go" }), sendTo("it", { type: "go" }, { delay: "soon" } as never), delayed];
    expect(timersOf({ entry: actions, on: { go: "two" } })).toEqual([]);
  });
});

it("an action that sets a timer is held to the same limit", () => {
  const registration = register(inState({ after: { soon: "two" } }, { delays: { soon: 5 } }));
  const id = "xstate.after.soon.thing.one";
  const timer = (delay: number) => toRequest(registration, "xstate.raise", { id, event: { type: id }, delay });
  expect(timer(DELAY_LIMIT_MS)).toMatchObject({ type: "timer", delayMs: DELAY_LIMIT_MS });
  for (const delay of [DELAY_LIMIT_MS + 1, -1, Number.NaN])
    expect(() => timer(delay)).toThrow(
      expect.objectContaining({ code: "action_invalid", message: expect.stringContaining(String(DELAY_LIMIT_MS)) }),
    );
});

describe("a delay's function", () => {
  const machine = thing({}, { delays: { soon: ({ context }: any) => context.wait, later: 10 } });
  const held = () => checkedDelays(machine, ["soon", "later", "lost"]);

  it("is held to give a number, and gets what XState gives it", () => {
    const { soon } = held();
    expect(soon?.({ context: { wait: 5 } })).toBe(5);
    expect(() => soon?.({ context: {} })).toThrow("what the delay soon gave is no number of milliseconds");
  });

  it("is the only thing that needs to be held", () => {
    expect(Object.keys(held())).toEqual(["soon"]);
  });
});
