import { describe, expect, it, test } from "vitest";
import { machines } from "../../machines/index.ts";
import { exerciseMachine } from "../../src/testing/index.ts";
import { size } from "../../tools/test/size.ts";
import { EXPLORED } from "./paths/index.ts";

/**
 * How much of each machine is tried: so many paths, or all that cover it where these are more; twice as many crashes at most, a quarter as
 * many failing stores.
 */
const SIZE = size("PATHS", 32);

const exercised = EXPLORED.map(({ machine, options }) =>
  exerciseMachine(
    machine,
    { ...options, others: machines, paths: SIZE, crashes: 2 * SIZE, faults: Math.ceil(SIZE / 4) },
    { describe, test },
  ),
);

describe("the machines of the agent runtime", () => {
  it("are all explored", () => {
    expect(EXPLORED.map(({ machine }) => machine.id)).toEqual(machines.map(({ id }) => id));
  });

  it("take each of their transitions on a generated path that ran on the real store", () => {
    for (const { found, transitions } of exercised) {
      expect([...transitions].sort()).toEqual([...found.covered].sort());
      expect(transitions.size).toBe(found.transitions);
    }
  });
});
