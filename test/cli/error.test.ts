import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Family } from "../../src/cli/demo/child.ts";
import { coded, EXIT, exitOf } from "../../src/cli/exit.ts";
import { writeWhole } from "../../src/cli/place.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("an error without a code", () => {
  it("is command_failed, with the error as its cause, and exit code 1", () => {
    const slip = new TypeError("x is not a function");
    expect(coded(slip)).toMatchObject({ code: "command_failed", message: "x is not a function", cause: slip });
    expect(exitOf(slip)).toBe(EXIT.failed);
  });
});

describe("a file", () => {
  it("that cannot be written is file_unwritable, and nothing of it is left", () => {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
    try {
      const path = join(directory, "not-there", "receipt.json");
      expect(() => writeWhole(path, "{}")).toThrow(expect.objectContaining({ code: "file_unwritable", details: { path } }));
      expect(readdirSync(directory)).toEqual([]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe("a process of the demo", () => {
  it("that does not end is waited for 30 seconds, and ended when the demo is", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let pid = 0;
    {
      await using family = new Family(new AbortController().signal, () => {});
      const child = family.start("A", { role: "contend", root: tmpdir(), directory: tmpdir(), report: "r", run: "nobody" } as never);
      ({ pid } = child);
      const gone = child.gone();
      vi.advanceTimersByTime(30_000);
      await expect(gone).rejects.toMatchObject({ code: "demo_timeout" });
      vi.useRealTimers();
    }
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });
});
