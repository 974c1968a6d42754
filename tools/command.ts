/**
 * Command: runs a program of this checkout and gives back how it ended.
 *
 * The checkout's own `node_modules/.bin` comes first on the path, so that Node, the compiler and the linter are the pinned ones.
 */

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

export interface Ended {
  readonly ok: boolean;
  /** Exit code; 124 where the bound was reached. */
  readonly code: number;
  /** stdout and stderr, one after the other; empty where the output was shown. */
  readonly output: string;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Options {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Folders that come before everything else on the path. */
  readonly path?: readonly string[];
  /** True: output goes straight to this process's. */
  readonly show?: boolean;
  /** Default 300,000. */
  readonly timeoutMs?: number;
}

export function run(program: string, args: readonly string[], options: Options = {}): Ended {
  const path = [...(options.path ?? []), join(ROOT, "node_modules", ".bin"), process.env.PATH ?? ""].join(delimiter);
  const ended = spawnSync(program, args, {
    cwd: options.cwd ?? ROOT,
    env: { ...process.env, ...options.env, PATH: path },
    stdio: ["ignore", options.show ? "inherit" : "pipe", options.show ? "inherit" : "pipe"],
    encoding: "utf8",
    timeout: options.timeoutMs ?? 300_000,
    killSignal: "SIGKILL",
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === "win32",
  });
  const stdout = ended.stdout ?? "";
  const stderr = (ended.stderr ?? "") + (ended.error ? `\n${ended.error.message}` : "");
  const code = ended.error && "code" in ended.error && ended.error.code === "ETIMEDOUT" ? 124 : (ended.status ?? 1);
  return { ok: code === 0, code, output: `${stdout}${stderr}`.trim(), stdout, stderr };
}

/** Where `--help` is asked for, says how a program of this checkout is called, and ends it with exit code 0. */
export function helpWith(usage: string): void {
  if (!process.argv.slice(2).includes("--help")) return;
  console.log(usage);
  process.exit();
}

/** The whole number that a text says; undefined where it says none from `least` on. */
export function wholeNumber(text: string, least: number): number | undefined {
  const value = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least ? value : undefined;
}

/** Prints the total as the last line, hands it to `.ci/run` where that asked for it, and sets the exit code. */
export function conclude(passed: number, failed: number, about: string): void {
  console.log(`\n${passed} passed, ${failed} failed (${about})`);
  const file = process.env.HOLDFAST_COUNT_FILE;
  if (file !== undefined) writeFileSync(file, `${passed} ${failed}\n`);
  if (failed > 0) process.exitCode = 1;
}
