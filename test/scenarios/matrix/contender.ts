/** Processes that race for roots: started once, asked by one line each, and used again by every race. */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A value, or the code that it failed with. */
export interface Answer {
  readonly value?: unknown;
  readonly code?: string;
  readonly bug?: string;
}

export class Contender {
  readonly child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    const child = spawn(process.execPath, [join(import.meta.dirname, "..", "race.child.ts")], { stdio: ["pipe", "pipe", "inherit"] });
    this.child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  async ask(command: string): Promise<Answer> {
    this.child.stdin?.write(`${command}\n`);
    const line = await this.#lines.next();
    if (line.done) throw new Error("the process ended without an answer");
    const answer = JSON.parse(line.value) as Answer;
    if (answer.bug) throw new Error(answer.bug);
    return answer;
  }
}

const started: Contender[] = [];

/** That many processes, ready to be asked. */
export async function contenders(count: number): Promise<Contender[]> {
  while (started.length < count) started.push(new Contender());
  await Promise.all(started.map((contender) => contender.ask("ready")));
  return started.slice(0, count);
}

/** Ends those that were started. */
export function endContenders(): void {
  for (const { child } of started) child.kill("SIGKILL");
  started.length = 0;
}
