/** Drive: a path of the protocol on the real runtime. After each step what is stored must be what the model says. */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { StoreReader } from "../../../src/actor/store.ts";
import { until } from "../../../src/testing/exercise-machine-stage.ts";
import { Oracle } from "../../simulation/oracle.ts";
import { type Decision, surroundingsOf, WISHES, type Wish } from "../decision.ts";
import type { Act } from "../matrix/act.ts";
import { bounded } from "../matrix/bound.ts";
import { executors, GATES } from "../matrix/path.ts";
import { Play } from "../matrix/play.ts";
import { type Happening, hasEnded, type Model, standingAt } from "../model.ts";
import { HANDOFF, TURN } from "../turn.ts";
import { isAnswer } from "./answer.ts";
import { QuickWorld, readDatabase } from "./quick-world.ts";
import { historyIn, historyOfModel, standingIn, standingOf } from "./stored.ts";

/** As in the matrix, without what is tried there besides. */
const EXECUTORS = {
  ...executors,
  "flush.ends": ({ seal }: { readonly seal: string }) =>
    (seal === "lost" ? ["fail the seal", "open flush", "sealed"] : ["open flush", "sealed"]) as Act[],
};

export class Drive {
  readonly play: Play;
  readonly world: QuickWorld;
  readonly #violations: string[] = [];
  readonly #decision: Decision;
  #oracle: Oracle;

  constructor(decision: Decision) {
    this.#decision = decision;
    const { compositions, denied } = surroundingsOf(decision);
    let world: QuickWorld | undefined;
    this.play = new Play(
      { gates: GATES, ...(compositions ? { compositions } : {}), ...(denied ? { denials: "denied" } : {}) },
      (...args) => (world = new QuickWorld(...args)),
    );
    this.world = world as QuickWorld;
    this.#oracle = this.#newOracle();
    this.#watch();
  }

  /** It reads whatever database is open when it looks. */
  #newOracle(): Oracle {
    const { world } = this;
    const reader: Pick<StoreReader, "entries" | "actor" | "deadLetters"> = {
      entries: (page) => world.reader.entries(page),
      actor: (address) => world.reader.actor(address),
      deadLetters: (filter, page) => world.reader.deadLetters(filter, page),
    };
    return new Oracle(reader as StoreReader, violationsOf(this.#decision, this.#violations));
  }

  /** The oracle sees what the backend is asked, before anything comes of it. */
  #watch(): void {
    const { backend } = this.play;
    const { prepare, step, flush } = backend;
    backend.step = (input) => {
      this.#oracle.stepped(input);
      return step(input);
    };
    if (prepare)
      backend.prepare = (input) => {
        this.#oracle.prepared(input);
        return prepare(input);
      };
    if (flush)
      backend.flush = (input) => {
        this.#oracle.flushed(input.runId);
        return flush(input);
      };
  }

  async open(): Promise<void> {
    await this.world.open();
  }

  /** Makes it happen and compares; `model` is the state that it leads to. Rejects with an AssertionError that says what differs. */
  async happen(happening: Happening, model: Model): Promise<void> {
    await this.perform(happening, model);
    const isTaken = model.trail.length > 0;
    if (isWish(happening.type))
      assert.ok(
        isAnswer(happening.type, this.#told, isTaken),
        `${happening.type} was ${isTaken ? "taken" : "declined"}, and came to ${this.#told}`,
      );
    await this.agrees(model, `after ${happening.type}`);
  }

  /** What a person was told whose wish met a store that failed: the answer where it is stored, and otherwise that it is not. */
  wasTold({ type }: Happening, isStored: boolean, when: string): void {
    if (!isWish(type) || type === "recover") return;
    const isTold = isStored ? isAnswer(type, this.#told, true) : this.#told === "storage_failed";
    assert.ok(isTold, `${when}: ${type} is ${isStored ? "" : "not "}stored, and came to ${this.#told}`);
  }

  /** What the last act came to. */
  get #told(): unknown {
    return Object.values(this.play.answers).at(-1);
  }

  async perform(happening: Happening, model: Model): Promise<void> {
    if (happening.type === "restart") return this.#restart(happening.how);
    const acts = EXECUTORS[happening.type] as (happening: Happening, model: Model) => readonly Act[];
    for (const act of acts(happening, model)) await this.play.act(act);
    if (happening.type === "recover") this.world.retry();
  }

  async #restart(how: "closed" | "killed"): Promise<void> {
    await this.next(() => (how === "killed" ? this.world.die() : this.world.reopen()));
  }

  /** Goes back to what a process had left that died earlier: nothing that was seen since then has happened. */
  async back(left: string): Promise<void> {
    this.#oracle = this.#newOracle();
    await this.next(
      () => this.world.die(left),
      readDatabase(left, (store) => store.lastPosition()),
    );
  }

  /**
   * Another process takes over: it has nothing of what this one had in memory, and whatever broke the store is over. Up to `position` is
   * what it finds.
   */
  async next(open: () => Promise<unknown>, position = this.#oracle.position): Promise<void> {
    const { play, world } = this;
    play.closeGates();
    world.probe = undefined;
    await open();
    this.#oracle.reopened(position);
    play.resuming = undefined;
    play.handoff = world.reader.actor(`run/${TURN.runId}`) ? play.run(TURN.runId).handoff() : undefined;
  }

  /** Waits until everything is at rest where the model is, and compares; what was promised of all roots must hold as well. */
  async agrees(model: Model, when: string): Promise<void> {
    await until(() => this.isAt(model));
    const { reader } = this.world;
    assert.deepEqual(standingIn(reader), standingOf(model), `${when}: what is stored is not what the model says`);
    assert.ok(this.#isThere(model), `${when}: the backend is not at ${standingAt(model).join(", ")}`);
    assert.deepEqual(historyIn(reader), historyOfModel(model), `${when}: it came about in another way than in the model`);
    this.#oracle.rest();
    assert.deepEqual(this.#violations, [], `${when}: what is promised does not hold`);
  }

  /** True where everything is at rest where the model is. */
  isAt(model: Model): boolean {
    return isDeepStrictEqual(standingIn(this.world.reader), standingOf(model)) && this.#isThere(model);
  }

  #isThere(model: Model): boolean {
    return standingAt(model).every((place) => this.play.gate(place).isReached);
  }

  /** Everything that was stored can be folded, and whoever waits for what is over has been told. */
  async verify(model: Model, when: string): Promise<void> {
    const damage = new Set(this.play.damage);
    const faults = this.world.holdfast.verify().faults.filter(({ code }) => !damage.has(code));
    assert.deepEqual(faults, [], `${when}: what is stored is not what the journals give`);
    for (const waiter of this.#waiters(model))
      await bounded(
        waiter.catch(() => {}),
        `${when}: somebody was left waiting`,
      );
  }

  /** What the model says has been answered: how runs end, and whether the handoff was held and sealed. */
  #waiters(model: Model): Promise<unknown>[] {
    const { play } = this;
    const runs = [TURN.runId, HANDOFF.successorRunId].filter((run) => hasEnded(model, `run/${run}`)).map((run) => play.run(run).end());
    const { handoff } = play;
    return handoff && (hasEnded(model, `handoff/${HANDOFF.id}`) || hasEnded(model, `run/${TURN.runId}`))
      ? [...runs, handoff.ready, handoff.sealed]
      : runs;
  }

  async end(): Promise<void> {
    await this.play.end();
  }
}

const isWish = (type: string): type is Wish => (WISHES as readonly string[]).includes(type);

/** Collects what an oracle finds. It does not know the program's own record of denials. */
export const violationsOf = (decision: Decision, into: string[]) => (what: string) => {
  if (!(surroundingsOf(decision).denied && what.startsWith("denial: "))) into.push(what);
};
