/** Host: one process as the simulation has it. It owns both roots until it dies, is robbed of them, or ends in order. */

import type { Clock } from "../../src/actor/clock.ts";
import type { FaultPoint, Probe } from "../../src/actor/commit.ts";
import { type Engine, openEngine } from "../../src/actor/engine.ts";
import type { Store } from "../../src/actor/store.ts";
import { type Holdfast, openRuntime } from "../../src/agent/runtime.ts";
import type { SimulatedClock } from "../../src/testing/index.ts";
import { alarm } from "./alarm.ts";
import { scriptedBackend, TOOL_NAMES, type Witness } from "./backend.ts";
import type { Chance } from "./chance.ts";
import type { Desk } from "./desk.ts";
import { type Ground, owned, type Sabotage, type Standing, type StoreWitness } from "./ground.ts";

/** The moments at which a host can be killed. */
export const POINTS = ["commit.before", "commit.inside", "commit.after", "effect.before", "effect.after"] as const;

/** The nth hit of this point kills. */
export interface Strike {
  readonly point: FaultPoint;
  left: number;
}

/** What all hosts stand on. */
export interface Scene {
  readonly sessions: Ground;
  readonly alarms: Ground;
  readonly clock: SimulatedClock;
  readonly desk: Desk;
  readonly chance: Chance;
  readonly sabotage: Sabotage;
  readonly witness: Witness & StoreWitness;
}

export class Host {
  readonly gen: number;
  readonly standing: Standing = { cut: false, closing: false, robbed: false, fault: null };
  strike: Strike | null;
  runtime!: Holdfast;
  alarms!: Engine;
  readonly #scene: Scene;
  readonly #stores: (readonly [Ground, Store])[] = [];
  readonly #wakes = new Set<() => void>();

  constructor(scene: Scene, gen: number, strike: Strike | null = null) {
    this.#scene = scene;
    this.gen = gen;
    this.strike = strike;
  }

  get isCut(): boolean {
    return this.standing.cut;
  }

  /** Takes both roots. Rejects where it dies meanwhile, or where a store fails. */
  async open(): Promise<void> {
    const { sessions, alarms, desk, chance, witness } = this.#scene;
    const clock = this.#clock();
    const probe = this.#probe();
    const place = { gen: this.gen, desk, chance, witness, isGone: () => this.isCut };
    const backends = { first: scriptedBackend(place, "first"), second: scriptedBackend(place, "second") };
    this.alarms = await openEngine(this.#store(alarms), { machines: [alarm], clock, probe, closeGraceMs: 0 });
    this.runtime = await openRuntime(this.#store(sessions), {
      backends,
      clock,
      probe,
      closeGraceMs: 0,
      inspect: ({ cwd }) => ({ workspace: cwd, backgroundSettled: true, tools: TOOL_NAMES }),
    });
  }

  /** Ends in order. */
  async close(): Promise<void> {
    this.standing.fault = null;
    this.standing.closing = true;
    this.strike = null;
    await this.runtime.close();
    await this.alarms.close();
    this.cut();
  }

  /** Dies: nothing of it counts any more, and nothing of it is closed but what the system closes for a dead process. */
  cut(): void {
    this.standing.cut = true;
    for (const cancel of this.#wakes) cancel();
    this.#wakes.clear();
    this.#scene.desk.forget(this.gen);
  }

  /** What the system does for a dead process. */
  bury(): void {
    this.cut();
    for (const [ground, store] of this.#stores.splice(0)) ground.leave(store);
  }

  #store(ground: Ground): Store {
    const store = ground.open();
    this.#stores.push([ground, store]);
    return owned(ground, this.#scene.sabotage(store, this.gen), this.standing, this.#scene.witness);
  }

  #clock(): Clock {
    const { clock } = this.#scene;
    return {
      now: () => clock.now(),
      after: (ms, wake) => {
        const cancel = clock.after(ms, () => {
          this.#wakes.delete(cancel);
          wake();
        });
        this.#wakes.add(cancel);
        return () => {
          this.#wakes.delete(cancel);
          cancel();
        };
      },
    };
  }

  #probe(): Probe {
    return (point) => {
      this.#scene.witness.stirred();
      if (this.isCut && point !== "commit.after") throw new Error("this process is dead");
      const { strike } = this;
      if (!strike || strike.point !== point || --strike.left > 0) return;
      this.strike = null;
      this.cut();
      if (point !== "commit.after") throw new Error("this process is dead");
    };
  }
}
