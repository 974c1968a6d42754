/** Drive: a path of the protocol on the real runtime. After each step what is stored must be what the model says. */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { isFinal, stateName } from "../../../src/actor/transition.ts";
import { until } from "../../../src/testing/exercise-machine-stage.ts";
import { Oracle } from "../../simulation/oracle.ts";
import { type Decision, surroundingsOf } from "../decision.ts";
import type { Act } from "../matrix/act.ts";
import { bounded } from "../matrix/bound.ts";
import { executors } from "../matrix/path.ts";
import { Play } from "../matrix/play.ts";
import { ADDRESSES, type Happening, hasEnded, live, type Model, standingAt } from "../model.ts";
import { HANDOFF, TURN } from "../turn.ts";
import { QuickWorld } from "./quick-world.ts";

/** Everywhere that the backend stands still until the path goes on; `original-run#1` is every play's. */
const GATES = ["original-run#2", "flush", "prepare successor-run", "successor-run#1", "successor-run#2"];

/** As in the matrix, without what is tried there besides. */
const EXECUTORS = {
  ...executors,
  "flush.ends": ({ seal }: { readonly seal: string }) =>
    (seal === "lost" ? ["fail the seal", "open flush", "sealed"] : ["open flush", "sealed"]) as Act[],
};

export class Drive {
  readonly play: Play;
  readonly world: QuickWorld;
  #oracle: Oracle | undefined;
  readonly #violations: string[] = [];
  readonly #decision: Decision;

  constructor(decision: Decision) {
    this.#decision = decision;
    const { compositions, denied } = surroundingsOf(decision);
    let world: QuickWorld | undefined;
    this.play = new Play(
      { gates: GATES, ...(compositions ? { compositions } : {}), ...(denied ? { denials: "denied" } : {}) },
      (...args) => (world = new QuickWorld(...args)),
    );
    this.world = world as QuickWorld;
  }

  async open(): Promise<void> {
    await this.world.open();
  }

  /** Makes it happen and compares; `model` is the state that it leads to. Rejects with an AssertionError that says what differs. */
  async happen(happening: Happening, model: Model): Promise<void> {
    await this.perform(happening, model);
    await this.agrees(model, `after ${happening.type}`);
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

  /** Another process takes over: it has nothing of what this one had in memory, and whatever broke the store is over. */
  async next(open: () => Promise<unknown>): Promise<void> {
    const { play, world } = this;
    play.closeGates();
    world.probe = undefined;
    await open();
    play.resuming = undefined;
    play.handoff = world.reader.actor(`run/${TURN.runId}`) ? play.run(TURN.runId).handoff() : undefined;
    this.#oracle = undefined;
  }

  /** Waits until everything is at rest where the model is, and compares; what was promised of all roots must hold as well. */
  async agrees(model: Model, when: string): Promise<void> {
    const modelled = modelledOf(model);
    const isThere = () => standingAt(model).every((place) => this.play.gate(place).isReached);
    await until(() => isDeepStrictEqual(this.#stored, modelled) && isThere());
    assert.deepEqual(this.#stored, modelled, `${when}: what is stored is not what the model says`);
    assert.ok(isThere(), `${when}: the backend is not at ${standingAt(model).join(", ")}`);
    this.#oracle ??= new Oracle(this.world.reader, violationsOf(this.#decision, this.#violations));
    this.#oracle.rest();
    assert.deepEqual(this.#violations, [], `${when}: what is promised does not hold`);
  }

  /** True where everything is at rest where the model is. */
  isAt(model: Model): boolean {
    return isDeepStrictEqual(this.#stored, modelledOf(model)) && standingAt(model).every((place) => this.play.gate(place).isReached);
  }

  get #stored(): Record<string, unknown> {
    const { reader } = this.world;
    return Object.fromEntries(
      ADDRESSES.flatMap((address) => {
        const row = reader.actor(address);
        if (!row) return [];
        const effects = reader.effects({ actor: address }, { limit: 100 }).map(({ name, state }) => `${name} ${state}`);
        return [[address, { state: row.state, status: row.status, seq: row.seq, effects, quarantine: row.quarantine }]];
      }),
    );
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

/** Collects what an oracle finds. It does not know the program's own record of denials. */
export const violationsOf = (decision: Decision, into: string[]) => (what: string) => {
  if (!(surroundingsOf(decision).denied && what.startsWith("denial: "))) into.push(what);
};

/** What is stored of a state whose handlers are at work. */
function modelledOf(model: Model): Record<string, unknown> {
  return Object.fromEntries(
    ADDRESSES.flatMap((address) => {
      const actor = live(model, address);
      if (!actor) return [];
      const { registration, snapshot, seq } = actor;
      const isOnce = (name: string) => registration.effects.get(name)?.delivery === "at_most_once";
      const effects = actor.effects.map(({ name, state }) => `${name} ${state === "open" && isOnce(name) ? "started" : state}`);
      return [
        [address, { state: stateName(snapshot.value), status: isFinal(snapshot) ? "final" : "active", seq, effects, quarantine: null }],
      ];
    }),
  );
}
