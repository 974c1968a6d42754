/**
 * Crash: what a process leaves that dies before, inside or after a commit of a path, and what the next two owners make of it; and what a
 * store leaves that fails at a write.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { StoreReader } from "../../../src/actor/store.ts";
import type { StoreFault } from "../../../src/testing/exercise-machine-fault.ts";
import { until } from "../../../src/testing/exercise-machine-stage.ts";
import { runChild } from "../../../src/testing/index.ts";
import type { Decision } from "../decision.ts";
import { BEGINNING, type Model, type PathStep, restarted, unheard } from "../model.ts";
import { temporary } from "../world.ts";
import { Drive } from "./drive.ts";
import { type Path, textOf } from "./graph.ts";
import { type Phase, readDatabase } from "./quick-world.ts";
import { historyIn, historyOfModel } from "./stored.ts";

/** A moment at which a process dies. */
export interface Death {
  readonly phase: Phase;
  /** The database that it leaves. */
  readonly file: string;
  /** States of the model in which it can be left. */
  readonly states: readonly Model[];
  /** Codes of what is damaged in it. */
  readonly damage: readonly string[];
}

/** A path with all the states in which a process can be left that dies on it. */
export const statesOn = (path: Path): Model[] => path.flatMap(({ model }, index) => between(path[index - 1]?.model ?? BEGINNING, model));

/** Between the states before and after a step a process can be in each that a macrostep leads to. */
export const between = (before: Model, after: Model): Model[] => [before, ...after.trail, after];

/** The state of the model that a store holds. */
export function stateIn(reader: StoreReader, states: readonly Model[], when: string): Model {
  const history = historyIn(reader);
  const found = states.find((model) => isDeepStrictEqual(historyOfModel(model), history));
  assert.ok(found, `${when}: the store holds what is no state of the model: ${JSON.stringify(history, null, 1)}`);
  return found;
}

/**
 * A process of its own drives the path and is killed with SIGKILL at its nth commit; two owners come after it. False where the path has
 * fewer commits.
 */
export async function kill(path: Path, phase: Phase, nth: number): Promise<boolean> {
  const folder = temporary();
  const [file, place] = [join(folder, "killed.db"), join(folder, "path.json")];
  writeFileSync(place, JSON.stringify(path.map(({ happening }) => happening)));
  const { signal, code, stderr, lines } = await runChild(new URL("./protocol.child.ts", import.meta.url), [
    file,
    place,
    phase,
    String(nth),
  ]);
  assert.deepEqual({ ended: signal ?? code, stderr }, { ended: signal ? "SIGKILL" : 0, stderr: "" }, `on ${textOf(path)}`);
  // After a death on the path the process works on what that left.
  if (signal) await recover(decisionOf(path), { phase, file: lines.at(-1) as string, states: statesOn(path), damage: [] });
  return signal !== null;
}

/** What the next owner makes of what a store holds. */
export function nextState(reader: StoreReader, states: readonly Model[], when: string): Model {
  const started = new Set(reader.effects({ state: "started" }, { limit: 100 }).map(({ key }) => key));
  return restarted(stateIn(reader, states, when), (key) => started.has(key));
}

/** Two owners come after a death; the journal goes on from what it was. Rejects with an AssertionError where the model says something else. */
export async function recover(decision: Decision, death: Death): Promise<void> {
  const when = `after a crash ${death.phase} a commit`;
  const drive = new Drive(decision);
  const { world, play } = drive;
  play.damage.push(...death.damage);
  try {
    const found = readDatabase(death.file, (left) => [left.entries({ limit: 1000 }), nextState(left, death.states, when)] as const);
    const [journal] = found;
    let [, model] = found;
    world.use(death.file);
    for (const owner of ["the first owner", "the second owner"]) {
      await drive.next(() => world.reopen(), journal.at(-1)?.position ?? 0);
      await drive.agrees(model, `${owner} ${when}`);
      const entries = world.reader.entries({ limit: 1000 });
      assert.deepEqual(entries.slice(0, journal.length), journal, `${owner} ${when}: what was in the journal is not there as it was`);
      await drive.verify(model, `${owner} ${when}`);
      model = restarted(model);
    }
  } finally {
    await drive.end();
  }
}

/** What is done with a path, from the step `from` on: those before are another path's. */
export interface Driving {
  readonly from: number;
  /** Asked before, inside and after each commit whether there is a crash. */
  readonly isCrash: () => boolean;
}

/** Drives a path on the real runtime, and recovers from each crash on it; returns how many there were. */
export async function drivePath(path: Path, { from, isCrash }: Driving): Promise<number> {
  const decision = decisionOf(path);
  const drive = new Drive(decision);
  const deaths: Death[] = [];
  try {
    const { world, play } = drive;
    await world.open();
    for (const [index, { happening, model }] of path.entries()) {
      const states = between(path[index - 1]?.model ?? BEGINNING, model);
      world.onCommit = (phase) => {
        // A restart is a death itself, and its recovery is one as well.
        if (index < from || happening.type === "restart" || !isCrash()) return;
        deaths.push({ phase, file: world.leave(), states, damage: [...play.damage] });
      };
      await drive.happen(happening, model);
    }
    world.onCommit = () => {};
    await drive.verify((path.at(-1) as PathStep).model, "at the end of the path");
    for (const death of deaths) await recover(decision, death);
    return deaths.length;
  } catch (error) {
    throw new Error(`on ${textOf(path)}: ${(error as Error).message}`, { cause: error });
  } finally {
    await drive.end();
  }
}

/**
 * The last step of a path on a store that fails at each of the step's transactions in turn, in each way: that is busy, that cannot be
 * read, and that is full at each of its writes. Nothing is left half done, and the next owner finds what the model says. Returns how many
 * transactions failed.
 */
export async function failStore(path: Path): Promise<number> {
  let failed = 0;
  for (let transaction = 1; await failsAt(path, { kind: "busy", nth: 1, transaction }); transaction++) {
    failed++;
    if (await failsAt(path, { kind: "unreadable", nth: 1, transaction })) failed++;
    for (let nth = 1; await failsAt(path, { kind: "full", nth, transaction }); nth++) failed++;
  }
  return failed;
}

async function failsAt(path: Path, fault: StoreFault): Promise<boolean> {
  const drive = new Drive(decisionOf(path));
  const { world } = drive;
  const when = `on ${textOf(path)}: the store is ${fault.kind} at ${fault.nth} of transaction ${fault.transaction}`;
  try {
    await world.open();
    for (const { happening, model } of path.slice(0, -1)) await drive.happen(happening, model);
    const [before, { happening, model }] = [path.at(-2)?.model ?? BEGINNING, path.at(-1) as PathStep];
    world.faults.arm(fault);
    await drive.perform(happening, model);
    // Also what changes nothing has its transaction, some turns later.
    for (let turn = 0; turn < TURNS; turn++) await setImmediate();
    await until(() => world.faults.failed > 0 || drive.isAt(model));
    if (world.faults.failed === 0) {
      await drive.agrees(model, `${when}, which it has not`);
      return false;
    }
    const states = [...between(before, model), ...unheard(before, path.at(-1) as PathStep)];
    drive.wasTold(happening, stateIn(world.reader, states, when) !== before, when);
    const next = nextState(world.reader, states, when);
    await drive.next(() => world.die());
    await drive.agrees(next, when);
    await drive.verify(next, when);
    return true;
  } finally {
    await drive.end();
  }
}

/** Turns of the event loop in which whatever was asked for has come to its transaction. */
const TURNS = 5;

const decisionOf = (path: Path): Decision => path.at(-1)?.model.decision as Decision;
