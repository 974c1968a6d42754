/** Child processes of the bench: one program each, with this Node. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From before the start to the first byte of output, in ms. */
  readonly firstOutputMs: number;
}

/** Path of a program beside this file. */
export function childPath(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

export function runChild(name: string, args: readonly string[]): Promise<ChildEnd> {
  return runProgram(process.execPath, [childPath(name), ...args]);
}

export function runProgram(program: string, args: readonly string[]): Promise<ChildEnd> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    let [stdout, stderr, firstOutputMs] = ["", "", Number.NaN];
    child.stdout.once("data", () => {
      firstOutputMs = performance.now() - begun;
    });
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, stdout, stderr, firstOutputMs }));
  });
}
