/**
 * Drive: a path, move by move, on the real engine and on the model, which must agree after each.
 *
 * Guarantees: each move happens as it would outside: an event is sent, an outcome is what a handler returns, a timer's event comes with
 * its time, a restart is another owner of the same database.
 */

import assert from "node:assert/strict";
import type { ActorRef } from "../actor/actor-ref.ts";
import { HoldfastError } from "../actor/error.ts";
import { inflated } from "../actor/journal.ts";
import type { Json } from "../actor/json.ts";
import { dehydrate, stateName } from "../actor/transition.ts";
import { plural } from "../agent/count.ts";
import { dump, type StoreFault } from "./exercise-machine-fault.ts";
import { type Stage, until } from "./exercise-machine-stage.ts";
import { effectAt, type Model, type ModelState } from "./path-model.ts";
import { type Move, moveText, type Outcome } from "./path-move.ts";
import type { MachinePath } from "./paths.ts";

/** What is done besides driving. */
export interface Driving {
  /** From this move on, `onMove` is called and stores fail; -1 is the creation. */
  readonly from: number;
  /** Called before each of these moves. */
  readonly onMove?: (index: number) => void;
  /** Called after each of these moves, when engine and model agree. */
  readonly onRest?: (states: ModelStates) => Promise<void>;
  /** True: the store fails in every way at each of these moves, before it happens. */
  readonly faults?: boolean;
}

/** What the model says by the actor's revision; of one revision there are several where others were set aside, or an owner came, meanwhile. */
export type ModelStates = ReadonlyMap<number, readonly ModelState[]>;

/** What a driven path left. */
export interface Driven {
  readonly states: ModelStates;
  readonly failedTransactions: number;
}

/** Drives a whole path; rejects with an AssertionError that names the move where engine and model part. */
export async function drive(stage: Stage, model: Model, path: MachinePath, driving: Driving): Promise<Driven> {
  await stage.open();
  driving.from < 0 && driving.onMove?.(-1);
  const play = new Play(stage, model, driving.faults === true);
  let state = await play.create(path.input, driving.from < 0);
  if (driving.from < 0) await driving.onRest?.(play.states);
  for (let index = 0; index < path.moves.length; index++) {
    const [move, next] = path.moves.slice(index, index + 2) as [Move, Move | undefined];
    const isRaced = next?.kind === "outcome" && next.raced === true;
    // A race is new with its outcome: the move before it may have been another path's.
    const isFresh = index + (isRaced ? 1 : 0) >= driving.from;
    if (isFresh) driving.onMove?.(index);
    state = isRaced ? await play.race(state, move, next) : await play.move(state, move, isFresh);
    if (isRaced) index++;
    if (isFresh) await driving.onRest?.(play.states);
  }
  verifyStage(stage, "at the end of the path");
  return { states: play.states, failedTransactions: stage.faults.failed };
}

/** The journal, folded through the machines, gives what is stored; but for what was damaged to set it aside. */
export function verifyStage({ engine, damaged }: Stage, when: string): void {
  const faults = engine.verify().faults.filter(({ actor, code }) => !(code === "snapshot_damaged" && damaged.has(actor ?? "")));
  assert.deepEqual(faults, [], `${when}: what is stored is not what the journal gives`);
}

/** Waits until the engine is at rest where the model is, and compares. */
export async function compare(stage: Stage, { watched, address }: Model, state: ModelState, when: string): Promise<void> {
  const { registration } = watched;
  const isOnce = (name: string) => registration.effects.get(name)?.delivery === "at_most_once";
  const open = state.effects.filter((row) => row.state === "open").map(({ key }) => key);
  await until(() => stage.store.actor(address)?.seq === state.seq && stage.isAtWork(open));
  const row = stage.store.actor(address);
  assert.ok(row, `${when}: there is no actor ${address}`);
  const page = { limit: 1000 };
  const [entry] = stage.store.journal(address, { after: state.seq - 1, limit: 1 });
  const stored = {
    event: state.event && entry && (JSON.parse(inflated(stage.store, entry).event) as unknown),
    state: row.state,
    seq: row.seq,
    snapshot: JSON.parse(row.snapshot) as unknown,
    effects: stage.store.effects({ actor: address }, page).map(({ key, name, params, state }) => ({ key, name, params, state })),
    timers: stage.store.timers({ actor: address }, page).map(({ key, id, dueMs }) => ({ key, id, dueMs })),
    quarantine: row.quarantine,
    askedToStop: stage.askedToStop(open),
  };
  const modelled: typeof stored = {
    event: state.event,
    state: stateName(state.snapshot.value),
    seq: state.seq,
    snapshot: JSON.parse(dehydrate(registration, state.snapshot)),
    effects: state.effects.map(({ key, name, params, state }) => ({
      key,
      name,
      params,
      state: state === "open" && isOnce(name) ? "started" : state,
    })),
    timers: state.timers.map(({ key, id, dueMs }) => ({ key, id, dueMs })),
    quarantine: null,
    askedToStop: open.filter((key) => state.aborting.has(key)),
  };
  assert.deepEqual(stored, modelled, `${when}: what is stored is not what the machine says`);
  assert.ok(stage.isAtWork(open), `${when}: an open effect has no handler at work`);
  for (const [key, { name, times }] of stage.calls)
    assert.ok(times === 1 || !isOnce(name), `${when}: the handler of ${key}, which may run once, was called ${plural(times, "time")}`);
}

/** Rejections of the store that one move is made to meet, one after another; the last kind goes on until a write is none any more. */
function* faultsOf(): Generator<StoreFault> {
  yield { kind: "busy", nth: 1 };
  yield { kind: "unreadable", nth: 1 };
  for (let nth = 1; ; nth++) yield { kind: "full", nth };
}

/** Longest wait before the engine submits again what could not be committed: an outcome; it looks at its timers sooner. */
export const RETRY_MS = 10_000;

class Play {
  readonly states = new Map<number, ModelState[]>();
  readonly #stage: Stage;
  readonly #model: Model;
  readonly #faults: boolean;

  constructor(stage: Stage, model: Model, faults: boolean) {
    this.#stage = stage;
    this.#model = model;
    this.#faults = faults;
  }

  async create(input: unknown, isFresh: boolean): Promise<ModelState> {
    const { engine, clock, cast } = this.#stage;
    await this.#asked(() => engine.create(cast.machine, cast.id, { input: input as never }), isFresh, "the creation");
    const state = this.#model.create(input, clock.now(), engine.epoch);
    this.#note(state);
    clock.jump(state.nowMs);
    await compare(this.#stage, this.#model, state, "after its creation");
    return state;
  }

  /** What the model came to by its last call, and where it rests: a crash may leave each of it. */
  #note(rest: ModelState): void {
    for (const state of [...this.#model.passed, rest]) this.states.set(state.seq, [...(this.states.get(state.seq) ?? []), state]);
  }

  async move(state: ModelState, move: Move, isFresh: boolean): Promise<ModelState> {
    const when = `after ${moveText(move)} in ${stateName(state.snapshot.value)}`;
    const expected = this.#model.step(state, move);
    assert.notEqual(expected.last, "impossible", `${when}: the path cannot go on`);
    await this.#act(state, move, expected, isFresh);
    // Failing commits took time, also those of a timer: what it sets is due by the clock of the commit.
    const after = this.#model.step({ ...state, nowMs: this.#stage.clock.now() }, move);
    this.#note(after);
    // What is due at once is the engine's to fire.
    this.#stage.clock.jump(after.nowMs);
    const settled = { ...after, nowMs: this.#stage.clock.now() };
    await compare(this.#stage, this.#model, settled, when);
    return settled;
  }

  /** An event that asks a handler to stop, which fails in the same commit. */
  async race(before: ModelState, move: Move, outcome: Extract<Move, { kind: "outcome" }>): Promise<ModelState> {
    const middle = this.#model.step(before, move);
    this.#note(middle);
    const row = effectAt(middle, outcome.effect, outcome.nth);
    this.#handle(row?.key ?? "", outcome.outcome);
    const answer = await this.#send(move);
    assert.equal(answer.kind, "accepted");
    const after = this.#model.step(middle, outcome);
    this.#note(after);
    this.#stage.clock.jump(after.nowMs);
    await compare(this.#stage, this.#model, after, `after ${moveText(move)} and ${moveText(outcome)}`);
    return after;
  }

  async #act(state: ModelState, move: Move, expected: ModelState, isFresh: boolean): Promise<void> {
    const stage = this.#stage;
    switch (move.kind) {
      case "send": {
        const answer = await this.#asked(() => this.#send(move), isFresh, moveText(move));
        assert.equal(answer.kind, expected.last === "taken" ? "accepted" : "ignored", `the answer to ${moveText(move)}`);
        return;
      }
      case "outcome": {
        const row = effectAt(state, move.effect, move.nth);
        const isOnce = this.#model.watched.registration.effects.get(move.effect)?.delivery === "at_most_once";
        const isQuiet = state.timers.length === 0 && !isOnce;
        await this.#happening(() => this.#handle(row?.key ?? "", move.outcome), expected.seq, isFresh && isQuiet);
        return;
      }
      case "timer":
        return this.#happening(() => stage.clock.jump(expected.nowMs), expected.seq, isFresh && state.timers.length === 1);
      case "restart":
        await stage.close();
        return stage.open();
      case "aside":
        return stage.setAside(move.actor);
      case "back":
        return stage.takeBack(move.actor);
    }
  }

  #send(move: Move): ReturnType<ActorRef["send"]> {
    const { engine, cast } = this.#stage;
    const ref = engine.get(cast.machine, cast.id) as ActorRef;
    return ref.send((move as Extract<Move, { kind: "send" }>).event as never);
  }

  #handle(key: string, outcome: Outcome): void {
    const handler = this.#stage.handler(key);
    if (outcome.kind === "done") handler.resolve(outcome.output as Json);
    else if (outcome.kind === "failed") {
      const { code, message } = outcome.error;
      handler.reject(Object.assign(new HoldfastError(code, message), { retryable: false }));
    } else if (outcome.kind === "aborted") handler.reject(new Error("it was asked to stop"));
    else {
      // Whether the work was done is known here alone, and cannot be written.
      this.#stage.points.throwAt("commit.inside", new Error("the disk is full"), { where: ({ entries = [] }) => entries.length > 0 });
      handler.resolve(null);
    }
  }

  /** Asks; where stores fail, in every way before, and nothing is left of each. */
  async #asked<T>(ask: () => Promise<T>, isFresh: boolean, what: string): Promise<T> {
    if (!this.#faults || !isFresh) return await ask();
    for (const fault of faultsOf()) {
      const { faults, store } = this.#stage;
      const [before, failed] = [dump(store), faults.failed];
      faults.arm(fault);
      const asked = await Promise.allSettled([ask()]);
      const [result] = asked;
      if (faults.failed === failed) {
        if (result.status === "fulfilled") return result.value;
        throw result.reason;
      }
      assert.equal(
        result.status === "rejected" && result.reason?.code,
        "storage_failed",
        `${what}, the store ${fault.kind} at ${fault.nth}`,
      );
      assert.equal(dump(store), before, `${what} left something half done, the store ${fault.kind} at ${fault.nth}`);
    }
    throw new Error("unreachable");
  }

  /** Lets something happen that the engine takes by itself, and tries again where a store fails. */
  async #happening(begin: () => void, seq: number, isFresh: boolean): Promise<void> {
    const { faults, store, clock, cast } = this.#stage;
    const isDone = () => store.actor(cast.address)?.seq === seq;
    if (!this.#faults || !isFresh) {
      begin();
      await until(isDone);
      return;
    }
    let act = begin;
    for (const fault of faultsOf()) {
      const [before, failed] = [dump(store), faults.failed];
      faults.arm(fault);
      act();
      await until(() => faults.failed > failed || isDone());
      if (faults.failed === failed) return;
      assert.equal(dump(store), before, `something was left half done, the store ${fault.kind} at ${fault.nth}`);
      await until(() => clock.isWaiting(RETRY_MS));
      act = () => clock.jump(clock.now() + RETRY_MS);
    }
  }
}
