import { afterEach, describe, expect, it, vi } from "vitest";
import { Outbox } from "../../src/actor/outbox.ts";
import { Stage } from "../../src/testing/exercise-machine-stage.ts";
import type { ExerciseOptions } from "../../src/testing/index.ts";
import { failing, proofOf } from "./failing.ts";
import { indifferent } from "./shapes.ts";

const options: ExerciseOptions = { input: {}, events: [{ type: "halt" }, { type: "work.done", output: null }], crashes: 0, faults: 0 };

/** What is said of the test of one path. */
async function failureOf(path: string): Promise<string | undefined> {
  const failed = Object.entries(await failing(indifferent, options));
  return failed.find(([name]) => name.endsWith(`: ${path}`))?.[1];
}

describe("the proof of a machine whose effect ends in one state, whatever it comes to", () => {
  afterEach(() => void vi.restoreAllMocks());

  it("passes where the engine takes what the effect came to", async () => {
    expect(await failing(indifferent, options)).toEqual({});
  });

  it("tries a crash in the commit in which a handler fails that is asked to stop", async () => {
    const { tests } = proofOf(indifferent, { input: {}, events: options.events });
    const copies = vi.spyOn(Stage.prototype, "copyTo");
    await tests.find(([name]) => /^path .*: halt, work failed \(raced\)$/.test(name))?.[1]();
    expect(copies).toHaveBeenCalledTimes(3);
  });

  it("fails where the engine takes another event than the one that happened", async () => {
    const handler = Stage.prototype.handler;
    vi.spyOn(Stage.prototype, "handler").mockImplementation(function (this: Stage, key) {
      const waiting = handler.call(this, key);
      return { ...waiting, resolve: () => waiting.reject(Object.assign(new Error("lost"), { retryable: false })) };
    });
    expect(await failureOf("work done")).toMatch(/work\.failed/);
  });

  it("fails where a handler is not told that it shall stop", async () => {
    vi.spyOn(Outbox.prototype, "abort").mockImplementation(() => undefined);
    expect(await failureOf("halt, work aborted")).toMatch(/^after halt in working: .*askedToStop/s);
  });
});
