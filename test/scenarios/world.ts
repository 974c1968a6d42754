/**
 * One state root in a temporary directory, the runtime that owns it, and what its store says, read back over a connection of its own.
 * Knows no test framework: `test/agent/world.ts` ends what a test leaves, and whoever else makes worlds ends them.
 */

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Probe } from "../../src/actor/commit.ts";
import { entriesOf } from "../../src/actor/page.ts";
import type { ActorRow, JournalRow, StoreReader } from "../../src/actor/store.ts";
import {
  type Backend,
  fakeBackend,
  type Holdfast,
  type OpenHoldfastOptions,
  openHoldfast,
  type Run,
  type RunEvent,
} from "../../src/index.ts";
import { openRootReader } from "../../src/store/root-store.ts";

export interface Fact {
  readonly type: string;
  readonly [key: string]: any;
}

const directories = new Set<string>();
const worlds = new Set<World>();

/** Closes every world that is left and removes their directories. */
export async function endWorlds(): Promise<void> {
  for (const world of worlds) await world.close();
  worlds.clear();
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  directories.clear();
}

/** A new directory, by its real path; `endWorlds` removes it. */
export function temporary(): string {
  const directory = realpathSync.native(mkdtempSync(join(tmpdir(), "holdfast-agent-")));
  directories.add(directory);
  return directory;
}

export class World {
  readonly root = temporary();
  readonly backends: Record<string, Backend>;
  holdfast!: Holdfast;
  /** Called at each fault point of whatever runtime is open. */
  probe: Probe | undefined;
  readonly #options: Partial<OpenHoldfastOptions>;
  #reader: (StoreReader & { close(): void }) | undefined;

  constructor(backends: Record<string, Backend>, options: Partial<OpenHoldfastOptions> = {}) {
    this.backends = backends;
    this.#options = options;
    worlds.add(this);
  }

  static async open(backend: Backend, options: Partial<OpenHoldfastOptions> = {}): Promise<World> {
    const world = new World({ assistant: backend }, options);
    await world.open();
    return world;
  }

  /** A world whose only run waited for a person when its snapshot was damaged: the next start has set it aside. */
  static async setAside(): Promise<World> {
    const waits = { next: "wait", interaction: { id: "question-1", question: "May I?" } } as const;
    const world = await World.open(fakeBackend({ script: { report: waits } }));
    const run = await world.begin();
    for await (const event of run.events()) if (event.type === "run.waiting") break;
    await world.holdfast.close();
    world.tamper("UPDATE actors SET snapshot = '{' WHERE address = 'run/run-1'");
    await world.open();
    return world;
  }

  async open(): Promise<Holdfast> {
    this.holdfast = await this.start({
      backends: this.backends,
      closeGraceMs: 0,
      probe: (point, subject) => this.probe?.(point, subject),
      ...this.#options,
    });
    return this.holdfast;
  }

  protected start(options: Omit<OpenHoldfastOptions, "root">): Promise<Holdfast> {
    return openHoldfast({ root: this.root, ...options });
  }

  /** Gives the root up and takes it again, as the next process would. */
  async reopen(): Promise<Holdfast> {
    await this.holdfast.close();
    return this.open();
  }

  async close(): Promise<void> {
    await this.holdfast?.close();
    this.#reader?.close();
    this.#reader = undefined;
  }

  /** Closes it and removes its directory. */
  async end(): Promise<void> {
    await this.close();
    worlds.delete(this);
    directories.delete(this.root);
    rmSync(this.root, { recursive: true, force: true });
  }

  /** A session and its first run. */
  async begin(text = "Do the long job", options: Parameters<Awaited<ReturnType<Holdfast["createSession"]>>["send"]>[1] = {}): Promise<Run> {
    const session = await this.holdfast.createSession({ backend: "assistant", cwd: this.root, id: "session-1" });
    return session.send(text, { runId: "run-1", turnId: "turn-1", ...options });
  }

  get reader(): StoreReader {
    this.#reader ??= openRootReader(this.root);
    return this.#reader;
  }

  rows(address: string): JournalRow[] {
    return [...entriesOf(this.reader, address)];
  }

  /** What an actor has stated, in order. */
  facts(address: string): Fact[] {
    return this.rows(address).flatMap((row) => JSON.parse(row.facts));
  }

  /** How often each kind of fact was stated by all runs. */
  count(type: string, fits: (fact: Fact) => boolean = () => true): number {
    return this.actors("run").flatMap((row) => this.facts(row.address).filter((fact) => fact.type === type && fits(fact))).length;
  }

  actors(machine?: string): ActorRow[] {
    return this.reader.actors(machine === undefined ? {} : { machine }, { limit: 1000 });
  }

  state(address: string): string | undefined {
    return this.reader.actor(address)?.state;
  }

  context(address: string): Record<string, any> {
    return JSON.parse(this.reader.actor(address)?.snapshot ?? "{}").context;
  }

  /** Every row of the root, without the epochs, which each opening raises. */
  dump(): string {
    const { reader } = this;
    const actors = this.actors().map(({ epoch: _, ...row }) => ({ ...row, names: reader.identities(row.address) }));
    const effects = reader.effects({}, { limit: 1000 }).map(({ epoch: _, ...row }) => row);
    return JSON.stringify(
      { actors, effects, entries: reader.entries({ limit: 1000 }), letters: reader.deadLetters({}, { limit: 1000 }) },
      null,
      1,
    );
  }

  get databaseFile(): string {
    return join(this.root, "holdfast.db");
  }

  /** Changes the database behind the runtime's back. */
  tamper(sql: string, ...values: unknown[]): number {
    const db = new Database(this.databaseFile);
    try {
      return db.prepare(sql).run(...values).changes;
    } finally {
      db.close();
    }
  }
}

/** The code with which a call fails, or undefined where it succeeds. */
export async function codeOf(call: () => unknown): Promise<string | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === undefined) throw error;
    return code;
  }
}

export async function collect<T>(events: AsyncIterable<T>, into: T[] = []): Promise<T[]> {
  for await (const event of events) into.push(event);
  return into;
}

/** Stored events only, without what is not stored. */
export const stored = (events: readonly RunEvent[]): RunEvent[] => events.filter((event) => event.type !== "partial");
