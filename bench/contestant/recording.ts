/**
 * Recording: what the engine's store really executes for a step, as SQL and ready values.
 *
 * It listens below the store, at better-sqlite3 itself, so it follows every change of the store and its schema. Named parameters
 * are given by place when they are replayed, which is faster: the raw contestant does not inherit the way in which the store binds.
 */

import { rmSync } from "node:fs";
import Database from "better-sqlite3";
import type { Place } from "../place.ts";
import { databaseOf } from "../place.ts";
import { createSteps, openSteps, stepTogether, WARM_UP } from "./engine.ts";

const METHODS = ["run", "get", "all"] as const;

export interface Recorded {
  readonly sql: string;
  readonly method: (typeof METHODS)[number];
  readonly values: readonly unknown[];
}

export interface Recording {
  /** A database as it was before the first recorded statement. */
  readonly template: string;
  readonly statements: readonly Recorded[];
  readonly actors: number;
  /** Events of each actor: before the recording, and in it. */
  readonly before: number;
  readonly rounds: number;
}

/** Lets an engine take `rounds` events with each of `actors` actors, and writes down what reaches its database. */
export async function record(place: Place, actors: number, rounds: number): Promise<Recording> {
  const root = place.fresh("recorded");
  const template = place.fresh("template.db");
  const listener = listen(databaseOf(root));
  try {
    const engine = await openSteps(root, "normal");
    const refs = await createSteps(engine, actors);
    const before = actors === 1 ? WARM_UP : 1;
    await stepTogether(refs, 0, before);
    copyInto(databaseOf(root), template);
    listener.on = true;
    await stepTogether(refs, before, rounds);
    listener.on = false;
    await engine.close();
    const { statements } = listener;
    refuseIncomplete(statements, actors, rounds);
    return { template, statements, actors, before, rounds };
  } finally {
    listener.end();
    rmSync(root, { recursive: true, force: true });
  }
}

/** True for a statement that only reads. */
export function isRead({ sql }: Recorded): boolean {
  return /^\s*(SELECT|PRAGMA|WITH)\b/i.test(sql);
}

interface Listener {
  on: boolean;
  readonly statements: Recorded[];
  end(): void;
}

type Prepare = (this: Database.Database, sql: string) => Database.Statement;

function listen(file: string): Listener {
  const prototype = Database.prototype as unknown as { prepare: Prepare; exec: unknown; pragma: unknown };
  const { prepare, exec, pragma } = prototype;
  const listener: Listener = {
    on: false,
    statements: [],
    end: () => void Object.assign(prototype, { prepare, exec, pragma }),
  };
  const note = (sql: string, method: Recorded["method"], values: readonly unknown[]) => {
    if (listener.on) listener.statements.push(byPlace(sql, method, values));
  };
  prototype.prepare = function (this: Database.Database, sql: string) {
    const statement = prepare.call(this, sql) as unknown as Record<string, unknown>;
    if (this.name === file)
      for (const method of METHODS) {
        const native = statement[method] as (...values: unknown[]) => unknown;
        statement[method] = function (this: unknown, ...values: unknown[]) {
          note(sql, method, values);
          return native.apply(this, values);
        };
      }
    return statement as unknown as Database.Statement;
  };
  prototype.exec = function (this: Database.Database, sql: string) {
    if (this.name === file) note(sql, "run", []);
    return (exec as (sql: string) => unknown).call(this, sql);
  };
  prototype.pragma = function (this: Database.Database, text: string, options?: object) {
    if (this.name === file) note(`PRAGMA ${text}`, "get", []);
    return (pragma as (text: string, options?: object) => unknown).call(this, text, options);
  };
  return listener;
}

/** The statement with its values in the order of their places. Copied, for the store may use its objects again. */
function byPlace(sql: string, method: Recorded["method"], values: readonly unknown[]): Recorded {
  const [first] = values;
  if (Array.isArray(first)) return { sql, method, values: [...first] };
  if (values.length !== 1 || typeof first !== "object" || first === null || first instanceof Uint8Array)
    return { sql, method, values: [...values] };
  const named = first as Record<string, unknown>;
  const inOrder: unknown[] = [];
  const text = sql.replace(/[@:$]([A-Za-z_]\w*)/g, (whole, name: string) => {
    if (!(name in named)) return whole;
    inOrder.push(named[name]);
    return "?";
  });
  return { sql: text, method, values: inOrder };
}

/** What was recorded must be whole transactions, or the raw contestant would do less than the engine. */
function refuseIncomplete(statements: readonly Recorded[], actors: number, rounds: number): void {
  const count = (pattern: RegExp) => statements.filter(({ sql }) => pattern.test(sql)).length;
  // One statement can append many.
  const entries = statements.reduce(
    (sum, { sql }) => sum + (/^\s*INSERT INTO journal\b/i.test(sql) ? (sql.match(/\(\?/g)?.length ?? 0) : 0),
    0,
  );
  const found = { begun: count(/^\s*BEGIN/i), committed: count(/^\s*(COMMIT|END)/i), entries };
  const expected = { begun: rounds, committed: rounds, entries: actors * rounds };
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`the recording is not whole: ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
}

function copyInto(file: string, template: string): void {
  const db = new Database(file);
  try {
    db.prepare("VACUUM INTO ?").run(template);
  } finally {
    db.close();
  }
}
