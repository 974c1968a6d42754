/**
 * Child: the demo's side of one of its processes.
 *
 * Guarantees: no wait is without a bound; a child that says something else, ends early or falls silent becomes an error that says so;
 * no child outlives the demo, however it ends.
 */

import { type ChildProcess, fork } from "node:child_process";
import { codedError } from "../../agent/error.ts";
import { cliError } from "../error.ts";
import { oneLine } from "../format.ts";
import { commandFile, DEMO_PROCESS } from "../self.ts";
import type { Assignment, Go, Message } from "./message.ts";

/** Without any sign of life for this long, a child counts as hanging. */
const QUIET_MS = 120_000;
const EXIT_MS = 30_000;
/** Bytes of a child's stderr that are kept for an error's message. */
const STDERR_KEPT = 2000;

/** Messages that only tell how far a child is. */
type Passing = Extract<Message, { type: "step" | "progress" }>;

export type Letter = "A" | "B" | "C";

/** All processes of one demo. */
export class Family implements AsyncDisposable {
  readonly #children: Child[] = [];
  readonly #signal: AbortSignal;
  readonly #passing: (letter: Letter, message: Passing) => void;
  // `process.exit` runs no `finally`.
  readonly #atExit = () => {
    for (const child of this.#children) child.killNow();
  };

  /** `signal` ends every wait; `passing` receives what children tell between. */
  constructor(signal: AbortSignal, passing: (letter: Letter, message: Passing) => void) {
    this.#signal = signal;
    this.#passing = passing;
    process.on("exit", this.#atExit);
  }

  /** Starts a process. */
  start(letter: Letter, assignment: Assignment): Child {
    const child = new Child(letter, assignment, this.#signal, (message) => this.#passing(letter, message));
    this.#children.push(child);
    return child;
  }

  /** Ends every child that still lives. */
  async [Symbol.asyncDispose](): Promise<void> {
    process.off("exit", this.#atExit);
    await Promise.allSettled(this.#children.map((child) => child.kill()));
  }
}

export class Child {
  readonly letter: Letter;
  readonly #process: ChildProcess;
  readonly #signal: AbortSignal;
  readonly #queue: Exclude<Message, Passing>[] = [];
  readonly #gone: Promise<void>;
  #ended = false;
  #exit = "";
  #stderr = "";
  #lastSignMs = performance.now();
  #wake = () => {};

  constructor(letter: Letter, assignment: Assignment, signal: AbortSignal, passing: (message: Passing) => void) {
    this.letter = letter;
    this.#signal = signal;
    this.#process = fork(commandFile(), [DEMO_PROCESS, JSON.stringify(assignment)], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT);
    });
    this.#process.on("message", (message: Message) => {
      this.#lastSignMs = performance.now();
      if (message.type === "progress" || message.type === "step") passing(message);
      else this.#queue.push(message);
      this.#wake();
    });
    this.#gone = new Promise((resolve) => {
      const finish = (exit: string) => {
        this.#ended = true;
        this.#exit = exit;
        this.#wake();
        resolve();
      };
      this.#process.on("error", (error) => {
        if (this.#process.pid === undefined) finish(`did not start: ${error.message}`);
      });
      // `close`: also what it said last was read.
      this.#process.on("close", (code, by) => finish(by === null ? `exit code ${code}` : by));
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** The next thing that the child says, which must be this. Throws `demo_failed`, `demo_timeout`, or the child's own error. */
  async says<Type extends Exclude<Message, Passing>["type"]>(type: Type): Promise<Extract<Message, { type: Type }>> {
    const message = await this.#next(type);
    if (message.type === type) return message as Extract<Message, { type: Type }>;
    if (message.type === "failed") throw codedError(message.code, `process ${this.letter}: ${message.message}`, { details: { run: null } });
    const said =
      "codes" in message ? `parked (${message.codes.join(", ")})` : "code" in message ? `refused (${message.code})` : message.type;
    throw cliError("demo_failed", `process ${this.letter} should have said ${type}, and said ${said}`);
  }

  /** Lets the child go on. */
  go(): void {
    const word: Go = { type: "go" };
    this.#process.send(word, undefined, {}, () => {});
  }

  /** Kills the child with SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    this.killNow();
    await this.gone();
  }

  /** Sends SIGKILL, where the child still lives. */
  killNow(): void {
    if (!this.#ended) this.#process.kill("SIGKILL");
  }

  /** Resolves when the child has ended by itself or was killed. Throws `demo_timeout`. */
  async gone(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(cliError("demo_timeout", `process ${this.letter} (pid ${this.pid}) did not end within ${EXIT_MS / 1000} s`)),
        EXIT_MS,
      );
    });
    try {
      await Promise.race([this.#gone, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #next(wanted: string): Promise<Exclude<Message, Passing>> {
    const wake = () => this.#wake();
    this.#signal.addEventListener("abort", wake);
    const timer = setInterval(wake, 1000);
    try {
      for (;;) {
        const next = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        if (this.#signal.aborted) throw cliError("command_interrupted", "the demo was interrupted");
        const message = this.#queue.shift();
        if (message) return message;
        if (this.#ended) {
          const last = oneLine(this.#stderr.trim(), STDERR_KEPT);
          throw cliError("demo_failed", `process ${this.letter} ended (${this.#exit}) before it said ${wanted}${last ? `: ${last}` : ""}`);
        }
        if (performance.now() - this.#lastSignMs > QUIET_MS)
          throw cliError(
            "demo_timeout",
            `process ${this.letter} (pid ${this.pid}) gave no sign for ${QUIET_MS / 1000} s while it should come to: ${wanted}`,
          );
        await next;
      }
    } finally {
      clearInterval(timer);
      this.#signal.removeEventListener("abort", wake);
    }
  }
}
