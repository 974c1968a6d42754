import { expect, it } from "vitest";
import { runChild } from "../../src/testing/index.ts";

const script = new URL("./killed.child.ts", import.meta.url);

it("a process dies by SIGKILL at the nth hit of its point, and what it had said is heard", async () => {
  expect(await runChild(script, ["3"])).toEqual({ code: null, signal: "SIGKILL", lines: ["1", "2"], stderr: "" });
});

it("a process that comes to its end gives its code and all of its output", async () => {
  expect(await runChild(script, ["9"])).toEqual({
    code: 3,
    signal: null,
    lines: ["1", "2", "3", "4", "5", "and a line without an end"],
    stderr: "done",
  });
});
