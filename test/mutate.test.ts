/** The mutator: what it deletes from a machine, and that nothing else changes. */

import { describe, expect, it } from "vitest";
import { type AnyStateMachine, and, assign, initialTransition, setup, transition } from "xstate";
import { machines } from "../machines/index.ts";
import { EXPLAINED } from "../tools/mutate/explained.ts";
import { mutantsOf, mutatedBy } from "../tools/mutate/mutant.ts";

const machine = setup({
  actions: { note: assign({}), mark: assign({}) },
  guards: { isOpen: () => true, isOurs: () => true },
}).createMachine({
  id: "lamp",
  context: {},
  on: { drop: ".broken" },
  initial: "off",
  states: {
    off: {
      entry: "note",
      on: { press: [{ guard: and(["isOpen", "isOurs"]), target: "on", actions: ["note", "mark", "note"] }, { actions: "mark" }] },
    },
    on: {
      initial: "dim",
      states: { dim: { always: { guard: "isOpen", target: "bright" } }, bright: { on: { press: "#lamp.off", hit: "#lamp.broken" } } },
    },
    broken: { type: "final" },
  },
}) as unknown as AnyStateMachine;

const without = (id: string): any => {
  const mutant = mutantsOf(machine).find((one) => one.id === id);
  if (!mutant) throw new Error(`there is no mutant ${id}`);
  return mutant.config();
};

describe("the mutants of a machine", () => {
  it("lack each of its guards, targets, actions, transitions and states once", () => {
    expect(mutantsOf(machine).map(({ id }) => id.replace("lamp: ", ""))).toEqual([
      "root initial: target off",
      "root on drop: transition",
      "root on drop: target .broken",
      "off entry: action note",
      "off on press[0]: transition",
      "off on press[0]: guard and(isOpen, isOurs)",
      "off on press[0]: guard part isOpen",
      "off on press[0]: guard part isOurs",
      "off on press[0]: target on",
      "off on press[0]: action note",
      "off on press[0]: action mark",
      "off on press[0]: action note (2)",
      "off on press[1]: transition",
      "off on press[1]: action mark",
      "state off",
      "on initial: target dim",
      "state on",
      "on.dim always: transition",
      "on.dim always: guard isOpen",
      "on.dim always: target bright",
      "state on.dim",
      "on.bright on press: transition",
      "on.bright on press: target #lamp.off",
      "on.bright on hit: transition",
      "on.bright on hit: target #lamp.broken",
      "state on.bright",
      "state broken",
    ]);
  });

  it("lack nothing else", () => {
    const { config } = machine as any;
    const [press, other] = config.states.off.on.press;
    const mutant = without("lamp: off on press[0]: action note (2)");
    expect(mutant.states.off.on.press).toEqual([{ ...press, actions: ["note", "mark"] }, other]);
    expect({ ...mutant, states: null }).toEqual({ ...config, states: null });
    expect(Object.keys(mutant.states)).toEqual(["off", "on", "broken"]);
    expect(press.actions).toEqual(["note", "mark", "note"]);
  });

  it("keep the other part of a guard, and every guard where an action is gone", () => {
    expect(without("lamp: off on press[0]: guard part isOpen").states.off.on.press[0].guard).toBe("isOurs");
    expect("guard" in without("lamp: off on press[0]: guard and(isOpen, isOurs)").states.off.on.press[0]).toBe(false);
  });

  it("go nowhere where a target is gone, and take the event nevertheless", () => {
    expect(without("lamp: on.bright on press: target #lamp.off").states.on.states.bright.on).toEqual({ press: {}, hit: "#lamp.broken" });
    expect(without("lamp: on.bright on press: transition").states.on.states.bright.on).toEqual({ hit: "#lamp.broken" });
  });

  it("lead nowhere where the state is gone, from wherever it was named", () => {
    const mutant = without("lamp: state broken");
    expect(Object.keys(mutant.states)).toEqual(["off", "on"]);
    expect([mutant.on.drop, mutant.states.on.states.bright.on]).toEqual([{}, { press: "#lamp.off", hit: {} }]);
    expect(without("lamp: state on").states.off.on.press[0]).not.toHaveProperty("target");
    expect(without("lamp: state off").initial).toBe("on");
    expect(without("lamp: state on.dim").states.on.initial).toBe("bright");
  });

  it("have the implementations of the whole machine", () => {
    for (const mutant of mutantsOf(machine).filter(({ id }) => !id.includes("initial: target"))) {
      const built = mutatedBy(machine, mutant.config());
      expect([built.id, built.implementations]).toEqual([machine.id, machine.implementations]);
    }
  });

  it("fail where they would never come to rest", () => {
    const looping = setup({ guards: { isDone: () => false } }).createMachine({
      id: "loop",
      initial: "ready",
      states: {
        ready: { on: { go: "there" } },
        there: { always: { guard: "isDone", target: "back" } },
        back: { always: "there" },
      },
    }) as unknown as AnyStateMachine;
    const mutant = mutantsOf(looping).find(({ id }) => id === "loop: there always: guard isDone");
    const built = mutatedBy(looping, mutant?.config() ?? {});
    const [ready] = initialTransition(built);
    expect(() => transition(built, ready, { type: "go" })).toThrow();
  });

  it("are not made by half of what the mutator does not know", () => {
    const both = setup({}).createMachine({
      id: "both",
      type: "parallel",
      states: {
        one: { initial: "a", states: { a: {}, b: {} }, on: { go: { target: [".b", "#both.two.d"] } } },
        two: { initial: "c", states: { c: {}, d: {} } },
      },
    }) as unknown as AnyStateMachine;
    const mutant = mutantsOf(both).find(({ id }) => id === "both: state two.d");
    expect(() => mutant?.config()).toThrow("knows no list of targets");
  });

  it("are what is explained", () => {
    const ids = new Set(machines.flatMap((one) => mutantsOf(one)).map(({ id }) => id));
    expect(Object.keys(EXPLAINED).filter((id) => !ids.has(id))).toEqual([]);
  });
});
