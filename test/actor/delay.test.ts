import { describe, expect, it } from "vitest";
import { toRequest } from "../../src/actor/action.ts";
import { checkedDelays, DELAY_LIMIT_MS, notDelay } from "../../src/actor/delay.ts";
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
  const { soon, ...others } = checkedDelays(machine, ["soon", "later", "lost"]);

  it("is held to give a number, and gets what XState gives it", () => {
    expect(soon?.({ context: { wait: 5 } })).toBe(5);
    expect(() => soon?.({ context: {} })).toThrow("what the delay soon gave is no number of milliseconds");
  });

  it("is the only thing that needs to be held", () => {
    expect(others).toEqual({});
  });
});
