/**
 * Mailbox: where work waits for its commit.
 *
 * Owns the order: work is taken in the order in which it was asked for, and all that was asked for in one tick shares a group.
 * Guarantees: a promise settles only after its commit (durable) or its failure (nothing written); a full mailbox and a closed
 * engine answer at once.
 * Refuses to look into machines or rows.
 * Next: macrostep.ts
 */

import type { Answer } from "./answer.ts";
import { type Committed, commitGroup, type Journaled } from "./commit.ts";
import { engineError, HoldfastError, messageOf } from "./error.ts";
import type { Work } from "./work.ts";

interface Waiting {
  readonly work: Work;
  readonly target: string;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export interface MailboxLimits {
  /** Pieces of work in one transaction. */
  readonly group: number;
  /** Pieces of work that may wait for one actor. */
  readonly perActor: number;
}

export interface MailboxDuties {
  /** Called after each commit, before the answers are given. */
  committed(committed: Committed): void;
  /** Called where another epoch is current: this process owns the root no more (ACT-2). */
  fenced(): void;
}

export class Mailbox {
  readonly #journaled: Journaled;
  readonly #limits: MailboxLimits;
  readonly #duties: MailboxDuties;
  #waiting: Waiting[] = [];
  /** How much waits for each. */
  #counts = new Map<string, number>();
  #scheduled = false;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(journaled: Journaled, limits: MailboxLimits, duties: MailboxDuties) {
    this.#journaled = journaled;
    this.#limits = limits;
    this.#duties = duties;
  }

  /** Asks for one piece of work. Rejects with `closed`, with what its macrostep threw, or with the store's error. */
  submit(work: Work): Promise<Answer> {
    if (this.#closed) return Promise.reject(engineError("closed", "the engine is closed"));
    const target = targetOf(work);
    const count = this.#counts.get(target) ?? 0;
    // Only events from outside are bounded: an outcome that was turned away would be lost.
    if (work.kind === "event" && count >= this.#limits.perActor)
      return Promise.resolve({
        kind: "refused",
        code: "mailbox_full",
        message: `${count} pieces of work wait for ${target}: wait for earlier answers before sending more`,
      });
    this.#counts.set(target, count + 1);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, target, resolve, reject });
      this.#schedule();
    });
  }

  /** Takes no more work; resolves when what was asked for before has been committed or has failed. */
  close(): Promise<void> {
    this.#closed = true;
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
      if (this.#waiting.length > 0) this.#schedule();
      else for (const wake of this.#idle.splice(0)) wake();
    });
  }

  #uncount(group: readonly Waiting[]): void {
    if (this.#waiting.length === 0) {
      this.#counts = new Map();
      return;
    }
    for (const { target } of group) {
      const count = (this.#counts.get(target) ?? 1) - 1;
      if (count > 0) this.#counts.set(target, count);
      else this.#counts.delete(target);
    }
  }

  #flush(): void {
    const group = this.#waiting.slice(0, this.#limits.group);
    this.#waiting = this.#waiting.slice(group.length);
    this.#uncount(group);
    let committed: Committed;
    try {
      committed = commitGroup(
        this.#journaled,
        group.map(({ work }) => work),
      );
    } catch (error) {
      const failure = error instanceof HoldfastError ? error : storageFailed(error);
      const isFenced = failure.code === "not_owner";
      if (isFenced) this.#duties.fenced();
      for (const { resolve, reject } of group)
        if (isFenced) resolve({ kind: "refused", code: failure.code, message: failure.message });
        else reject(failure);
      return;
    }
    try {
      this.#duties.committed(committed);
    } catch (error) {
      // What is committed is answered, whatever fails in those who act on it.
      process.emitWarning(error instanceof Error ? error : messageOf(error));
    }
    group.forEach(({ resolve, reject }, index) => {
      const settled = committed.settled[index];
      if (settled?.ok) resolve(settled.answer);
      else reject(settled?.error);
    });
  }
}

function storageFailed(cause: unknown): HoldfastError {
  return engineError("storage_failed", "the group could not be committed", { cause });
}

function targetOf(work: Work): string {
  switch (work.kind) {
    case "create":
      return `${work.machine}/${work.id}`;
    case "event":
      return work.to;
    case "result":
    case "resolve":
      return work.effect;
    case "timer":
      return work.timer;
    case "reopen":
    case "admit":
    case "setAside":
    case "stop":
    case "release":
      return work.actor;
    case "row":
      return "";
  }
}
