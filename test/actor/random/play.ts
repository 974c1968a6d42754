/** Play: a case, done with a real engine; everything that is seen of it goes to `see`. */

import type { AnyStateMachine } from "xstate";
import { type Engine, openEngine } from "../../../src/actor/engine.ts";
import { HoldfastError } from "../../../src/actor/error.ts";
import type { ActorRow } from "../../../src/actor/store.ts";
import { type FaultPoints, faultPoints, type SimulatedClock } from "../../../src/testing/index.ts";
import { build } from "./build.ts";
import { handlersOf, type Stage } from "./handlers.ts";
import type { Observation } from "./observation.ts";
import { type Living, Sending } from "./sending.ts";
import { type Case, firstActors, type Op, type Point, RESERVED, type Strike } from "./spec.ts";
import { type Ground, type Owner, own, type Sabotage } from "./world.ts";

/** Where a case is played, and what may interfere. */
export interface Setting {
  readonly ground: Ground;
  readonly clock: SimulatedClock;
  readonly see: (seen: Observation) => void;
  readonly sabotage?: Sabotage;
  /** The number of the first owner. */
  readonly gen?: number;
  /** Prepares the fault points of each owner. */
  readonly plan?: (points: FaultPoints) => void;
}

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

export class Play {
  readonly #case: Case;
  readonly #setting: Setting;
  readonly machines: readonly AnyStateMachine[];
  readonly #stage: Stage;
  readonly #sending: Sending;
  #gen: number;
  #seen = 0;
  #living!: Living;
  #fenced: Living[] = [];
  /** How often a process died, was robbed of its ownership, or met a store that failed. */
  readonly counts = { deaths: 0, takeovers: 0, errors: 0 };

  constructor(given: Case, setting: Setting) {
    this.#case = given;
    this.#setting = setting;
    this.machines = build(given.machines);
    this.#gen = setting.gen ?? 1;
    const { ground } = setting;
    this.#sending = new Sending(ground.reader, this.machines, (seen) => this.#see(seen));
    this.#stage = {
      reader: ground.reader,
      conducts: given.conducts,
      calls: 0,
      see: (seen) => this.#see(seen),
      sent: (owner, call, event) => this.#sending.sent(owner, call, event),
    };
  }

  /** How many events were sent from outside. */
  get events(): number {
    return this.#sending.events;
  }

  /** The engine that owns the root now. */
  get engine(): Engine {
    return this.#living.engine;
  }

  /** All of it: the first actors, each step, and what brings it to rest. */
  async run(): Promise<void> {
    await this.begin();
    for (const op of this.#case.ops) await this.step(op);
    await this.finish();
  }

  async begin(): Promise<void> {
    this.#living = await this.#open();
    for (const address of firstActors(this.#case.machines)) await this.#create(address, 0);
    await this.#settle();
  }

  async step(op: Op): Promise<void> {
    await this.#do(op);
    await this.#settle();
    if (this.#living.owner.state.cut) await this.#revive();
  }

  /** One more owner without faults; time for what is due; and a question to everybody (ACT-10). */
  async finish(): Promise<void> {
    await this.#reopen(0, null, null);
    await this.#settle(20);
    const { clock, ground } = this.#setting;
    for (const ms of [100, 1000]) {
      clock.advance(ms);
      await this.#settle(20);
    }
    const rows = ground.reader.actors({}, { limit: 1000 });
    await Promise.all(
      rows.map(({ address }) => this.#sending.ask(this.#living, address, "ping", this.#sending.tag(this.#living.owner), "ping")),
    );
    if (!(await this.#settle(20))) this.#see({ saw: "restless" });
  }

  async end(): Promise<void> {
    for (const { engine } of this.#fenced) await engine.close();
    await this.#living?.engine.close();
  }

  #see(seen: Observation): void {
    this.#seen++;
    this.#setting.see(seen);
  }

  async #open(strike: Strike | null = null): Promise<Living> {
    const { ground, clock, sabotage = (store) => store, plan } = this.#setting;
    const points = faultPoints();
    const owner = own(ground, this.#gen++, clock, (seen) => this.#see(seen), sabotage);
    const excused = strike !== null;
    plan?.(points);
    if (strike) this.#plan(owner, points, strike);
    try {
      const engine = await openEngine(owner.store, {
        machines: this.machines,
        effects: handlersOf(this.#stage, owner),
        clock: owner.clock,
        probe: points.probe,
        cascadeLimit: 40,
        closeGraceMs: 0,
      });
      this.#see({ saw: "opening", error: null, excused });
      return { engine, owner, points };
    } catch (error) {
      this.#see({ saw: "opening", error: String(error), excused });
      owner.state.cut = true;
      throw error;
    }
  }

  /** Whoever is dead is followed by the next owner. */
  async #revive(): Promise<void> {
    this.counts.deaths++;
    await this.#living.engine.close();
    this.#living = await this.#open();
    await this.#settle();
  }

  async #reopen(closedMs: number, damage: number | null, strike: Strike | null): Promise<void> {
    await this.#living.engine.close();
    this.#setting.clock.advance(closedMs);
    if (damage !== null) this.#damage(damage);
    this.#living = await this.#open(strike).catch((error) => (strike ? this.#open() : Promise.reject(error)));
  }

  #plan(owner: Owner, points: FaultPoints, { point, nth, dies }: Strike): void {
    if (dies) points.callAt(point, () => this.#die(owner, point), { nth });
    else if (point === "commit.before" || point === "commit.inside") {
      owner.state.armed = true;
      points.callAt(point, () => this.#fail(), { nth });
    }
  }

  /** Until nothing more is seen to happen; false where that does not end. */
  async #settle(ticks = 5): Promise<boolean> {
    for (let quiet = 0, last = -1, round = 0; round < 400; round++) {
      await tick();
      const now = this.#setting.ground.reader.lastPosition() * 1000 + this.#seen;
      quiet = now === last ? quiet + 1 : 0;
      last = now;
      if (quiet === ticks) return true;
    }
    return false;
  }

  /** One that is set aside, where there is any. */
  #asideOf(index: number): string {
    const rows = this.#setting.ground.reader.actors({ quarantined: true }, { limit: 1000 });
    return rows[index % Math.max(1, rows.length)]?.address ?? this.#sending.addressOf(index);
  }

  async #do(op: Op): Promise<void> {
    const { engine, owner, points } = this.#living;
    const swallow = (promise: Promise<unknown>) =>
      promise.catch((error) => void (error instanceof HoldfastError || this.#mustBeDead(error)));
    switch (op.op) {
      case "burst":
        await this.#sending.burst(this.#living, op.sends);
        break;
      case "forge":
        await this.#sending.ask(
          this.#living,
          this.#sending.addressOf(op.actor),
          RESERVED[op.type % RESERVED.length] as string,
          this.#sending.tag(owner),
          "outside",
        );
        break;
      case "advance":
        this.#setting.clock.advance(op.ms);
        break;
      case "error":
      case "death":
        this.#plan(owner, points, { point: op.point, nth: op.nth, dies: op.op === "death" });
        break;
      case "takeover": {
        const old = this.#living;
        this.#fenced.push(old);
        old.owner.state.fenced = true;
        this.#living = await this.#open();
        this.counts.takeovers++;
        await Promise.all([this.#sending.burst(old, op.sends), this.#sending.burst(this.#living, op.sends)]);
        break;
      }
      case "reopen":
        await this.#reopen(op.closedMs, op.damage, op.strike);
        break;
      case "recover":
        await swallow(engine.recover());
        break;
      case "create":
        await this.#create(`m${op.machine % this.machines.length}/c${op.id}`, op.start);
        break;
      case "stop":
      case "delete": {
        const address = this.#sending.addressOf(op.actor);
        const actor = engine.get(this.#sending.machineOf(address), address.slice(3));
        if (actor) await swallow(actor[op.op]());
        break;
      }
      case "retry":
      case "resolve": {
        const waiting = engine.effects().filter(({ state }) => state === "exhausted" || state === "unknown");
        const key = waiting[op.effect % Math.max(1, waiting.length)]?.key;
        if (key === undefined) break;
        if (op.op === "retry") {
          this.#see({ saw: "retry", key });
          await swallow(engine.retry(key));
        } else
          await swallow(
            engine.resolve(key, op.well ? { output: { gen: owner.gen, value: 1 } } : { error: { code: "by_hand", message: "no" } }),
          );
        break;
      }
      case "release":
        await swallow(engine.release(this.#asideOf(op.actor), { discard: op.discard }));
    }
  }

  #mustBeDead(error: unknown): void {
    if (!this.#living.owner.state.cut) throw error;
  }

  #fail(): never {
    this.counts.errors++;
    throw new Error("the disk is full");
  }

  /** From here on nothing of the owner counts; what it was about to do fails. */
  #die(owner: Owner, point: Point): void {
    owner.state.cut = true;
    if (point !== "commit.after" && point !== "effect.after") throw new Error("this process is dead");
  }

  /** Makes a stored snapshot unreadable while nobody owns the root. */
  #damage(index: number): void {
    const { ground } = this.#setting;
    const rows = ground.reader.actors({ status: "active", quarantined: false }, { limit: 1000 });
    const row = rows[index % Math.max(1, rows.length)];
    if (!row) return;
    const store = ground.open();
    const { ordinal: _, ...known } = row;
    store.write(store.epoch(), (writer) => writer.putActor({ ...known, snapshot: "{}" } satisfies ActorRow));
    this.#see({ saw: "damage", actor: row.address });
  }

  async #create(address: string, start: number): Promise<void> {
    const { engine, owner } = this.#living;
    await engine
      .create(this.#sending.machineOf(address), address.slice(3), { input: { start } })
      .catch((error) => void (error instanceof HoldfastError || owner.state.cut || Promise.reject(error)));
  }
}
