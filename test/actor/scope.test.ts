import { describe, expect, it } from "vitest";
import { assign } from "xstate";
import { effect } from "../../machines/action.ts";
import { register } from "../../src/actor/registration.ts";
import { start, take } from "../../src/actor/transition.ts";
import { nothing, thing } from "./thing.ts";

const stamp = { at: 1, seq: 1, id: "thing/a:1" };
const plain = <T>(transition: () => T): T => transition();

describe("a transition", () => {
  /** It takes as many microsteps as it is told to, the first of them for the event itself. */
  const winding = register(
    thing(
      {
        context: { left: 0 },
        on: { go: { actions: "wind" } },
        always: { guard: "isLeft", actions: "unwind" },
      },
      {
        schemas: { events: { go: nothing } },
        actions: {
          wind: assign({ left: ({ event }: any) => event.microsteps - 1 }),
          unwind: assign({ left: ({ context }: any) => context.left - 1 }),
        },
        guards: { isLeft: ({ context }: any) => context.left > 0 },
      },
    ),
  );
  const { snapshot } = start(winding, {}, stamp, plain);
  const wound = (microsteps: number) => take(winding, snapshot, { type: "go", microsteps }, stamp, plain);

  it("may take 10,000 microsteps to come to rest", () => {
    expect(wound(10_000).snapshot.context).toEqual({ left: 0 });
  });

  it("that takes more is refused, and harms no other", () => {
    expect(() => wound(10_001)).toThrow(expect.objectContaining({ code: "machine_threw" }));
    expect(wound(1).snapshot.context).toEqual({ left: 0 });
  });
});

it("what a state does on its entry is done beside what it requests there, in its order", () => {
  const count = assign({ n: ({ context }: any) => context.n + 1 });
  const params = ({ context }: any) => ({ n: context.n });
  const entered = register(
    thing(
      { context: { n: 0 }, entry: ["count", { type: "job", params }, "count", { type: "job", params }] },
      {
        schemas: { effects: { job: { params: nothing.loose(), done: "job.done", delivery: "at_least_once" } } },
        actions: { count, job: effect() },
      },
    ),
  );
  const { snapshot, requests } = start(entered, {}, stamp, plain);
  expect(snapshot.context).toEqual({ n: 2 });
  expect(requests).toMatchObject([{ params: { n: 1 } }, { params: { n: 2 } }]);
});
