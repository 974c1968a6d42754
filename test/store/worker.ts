/** Starts `worker.child.ts` and talks to it; and temporary directories that end with their test. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach } from "vitest";

export interface Answer {
  readonly value?: unknown;
  readonly code?: string;
  readonly details?: { readonly pid?: number; readonly program?: string };
  readonly bug?: string;
}

const started = new Set<ChildProcess>();
const directories = new Set<string>();

afterEach(() => {
  for (const child of started) child.kill("SIGKILL");
  started.clear();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  directories.clear();
});

/** A new directory, 0700, by its real path. */
export function temporary(): string {
  const directory = realpathSync.native(mkdtempSync(join(tmpdir(), "holdfast-store-")));
  directories.add(directory);
  return directory;
}

export class Worker {
  readonly #child = spawn(process.execPath, [join(import.meta.dirname, "worker.child.ts")], { stdio: ["pipe", "pipe", "inherit"] });
  readonly #lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();

  /** A worker that has loaded its code and waits for commands. */
  static async start(): Promise<Worker> {
    const worker = new Worker();
    started.add(worker.#child);
    await worker.ask("ready");
    return worker;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async ask(command: string): Promise<Answer> {
    this.tell(command);
    return this.answer();
  }

  tell(command: string): void {
    this.#child.stdin.write(`${command}\n`);
  }

  async answer(): Promise<Answer> {
    const line = await this.#lines.next();
    if (line.done) throw new Error("the worker ended without an answer");
    const answer = JSON.parse(line.value) as Answer;
    if (answer.bug) throw new Error(answer.bug);
    return answer;
  }

  stop(): void {
    this.#child.kill("SIGSTOP");
  }

  /** Resolves when the operating system has reported the end of the process. */
  async kill(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

export const startWorkers = (count: number): Promise<Worker[]> => Promise.all(Array.from({ length: count }, () => Worker.start()));

/** Tells all of them before it waits for the first answer. */
export function askAll(workers: readonly Worker[], command: string): Promise<Answer[]> {
  for (const worker of workers) worker.tell(command);
  return Promise.all(workers.map((worker) => worker.answer()));
}

/** The error that `body` throws. */
export const thrownBy = (
  body: () => unknown,
): { code?: string; details?: Record<string, unknown>; retryable?: boolean; cause?: unknown } => {
  try {
    body();
  } catch (error) {
    return error as object;
  }
  throw new Error("expected it to throw");
};
