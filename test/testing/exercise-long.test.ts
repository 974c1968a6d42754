import { existsSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Stage } from "../../src/testing/exercise-machine-stage.ts";
import type { ExerciseOptions } from "../../src/testing/index.ts";
import { failing, proofOf } from "./failing.ts";
import { chainOf } from "./shapes.ts";
import { endless } from "./timed.ts";

const options: ExerciseOptions = { input: {}, events: [{ type: "go" }] };

describe("the proof of a machine with long paths", () => {
  afterEach(() => void vi.restoreAllMocks());

  it("keeps no more copies of the database than one move makes", async () => {
    const files: string[] = [];
    let most = 0;
    const copyTo = Stage.prototype.copyTo;
    vi.spyOn(Stage.prototype, "copyTo").mockImplementation(function (this: Stage, file) {
      copyTo.call(this, file);
      files.push(file);
      most = Math.max(most, files.filter((one) => existsSync(one)).length);
    });
    expect(await failing(chainOf(5), options)).toEqual({});
    expect([files.length, most]).toEqual([18, 3]);
  });

  it("tries the crashes of a long path in tests of 20 moves, each of them once", async () => {
    const parts = (moves: number) => proofOf(chainOf(moves), options).tests.flatMap(([name]) => /^path 1[^:]*/.exec(name) ?? []);
    expect(parts(19)).toEqual(["path 1"]);
    expect(parts(45)).toEqual(["path 1, moves 1 to 19", "path 1, moves 20 to 39", "path 1, moves 40 to 45"]);
    expect(parts(20)).toEqual(["path 1, moves 1 to 19", "path 1, move 20"]);
    const told: string[] = [];
    expect(await failing(chainOf(25), { ...options, tell: (line) => void told.push(line) })).toEqual({});
    expect(told).toEqual([expect.stringContaining("25 of 25 transitions on 1 of 1 path, 78 of 78 crashes")]);
  });

  it("has names that show the start, the length and the end of a long path", () => {
    const names = proofOf(chainOf(120), options).tests.map(([name]) => name);
    const long = names.filter((name) => name.includes("go, "));
    expect(long).toHaveLength(8);
    for (const name of long) expect(name).toMatch(/: (go, ){50}.*… \(120 moves\) ….*(, go){19}$/);
    expect(Math.max(...names.map(({ length }) => length))).toBeLessThan(350);
  });

  it("drives the beginning alone of a machine that has no end", async () => {
    const moves = vi.spyOn(Stage.prototype, "copyTo");
    const failed = await failing(endless, options);
    expect(Object.keys(failed)).toEqual(["is explored to its end"]);
    expect(moves.mock.calls.length).toBeLessThanOrEqual(3 * 21);
  });
});
