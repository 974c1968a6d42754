/** Processes that die at a named moment, and their parents. */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { FaultPoint, Probe } from "../actor/commit.ts";
import { type FaultFilter, faultPoints } from "./fault-points.ts";

/**
 * A probe that kills its own process with SIGKILL at the nth hit of a point: nothing of the process runs after it, no `finally`, no
 * flush. For use in a script that `runChild` starts.
 */
export function killAt(point: FaultPoint, nth = 1, where?: FaultFilter["where"]): Probe {
  const points = faultPoints();
  points.callAt(point, () => process.kill(process.pid, "SIGKILL"), where ? { nth, where } : { nth });
  return points.probe;
}

/** How a child process ended. */
export interface ChildEnd {
  /** Its exit code; null where a signal ended it. */
  readonly code: number | null;
  /** The signal that ended it, or null. */
  readonly signal: NodeJS.Signals | null;
  /** What it wrote to stdout, line by line; of a last line that was cut off, what had arrived. */
  readonly lines: readonly string[];
  /** What it wrote to stderr. */
  readonly stderr: string;
}

/** Runs a script with this Node and resolves when it has ended and its output has been read to the end. Never rejects for its exit. */
export function runChild(script: string | URL, args: readonly string[] = []): Promise<ChildEnd> {
  return new Promise((resolve, reject) => {
    const path = script instanceof URL ? fileURLToPath(script) : script;
    const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const lines: string[] = [];
    let stderr = "";
    createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", reject);
    // Not `exit`: the output may still be under way then.
    child.once("close", (code, signal) => resolve({ code, signal, lines, stderr }));
  });
}
