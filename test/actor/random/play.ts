/** Play: a case, done with a real engine; everything that is seen of it goes to `see`. */

import type { AnyStateMachine } from "xstate";
import { type Engine, openEngine } from "../../../src/actor/engine.ts";
import { HoldfastError } from "../../../src/actor/error.ts";
import type { EffectCall } from "../../../src/actor/handler.ts";
import type { ActorRow } from "../../../src/actor/store.ts";
import { type FaultPoints, faultPoints, type SimulatedClock } from "../../../src/testing/index.ts";
import { build } from "./build.ts";
import { handlersOf, type Stage } from "./handlers.ts";
import type { Answered, Observation } from "./observation.ts";
import { type Case, EVENTS, firstActors, type Op, type Point, RESERVED, type Send, type Strike } from "./spec.ts";
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

interface Living {
  readonly engine: Engine;
  readonly owner: Owner;
  readonly points: FaultPoints;
}

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

export class Play {
  readonly #case: Case;
  readonly #setting: Setting;
  readonly machines: readonly AnyStateMachine[];
  readonly #stage: Stage;
  #gen: number;
  #tags = 0;
  #seen = 0;
  #living!: Living;
  #fenced: Living[] = [];
  /** How often a process died, and how often one was robbed of its ownership. */
  readonly counts = { deaths: 0, takeovers: 0, errors: 0, events: 0 };

  constructor(given: Case, setting: Setting) {
    this.#case = given;
    this.#setting = setting;
    this.machines = build(given.machines);
    this.#gen = setting.gen ?? 1;
    const { ground } = setting;
    this.#stage = {
      reader: ground.reader,
      conducts: given.conducts,
      calls: 0,
      see: (seen) => this.#see(seen),
      sent: (owner, call, event) => this.#sent(owner, call, event),
    };
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
    await Promise.all(rows.map(({ address }) => this.#ask(address, "ping", this.#tag(), "ping")));
    await this.#settle(20);
  }

  async end(): Promise<void> {
    for (const { engine } of this.#fenced) await engine.close();
    await this.#living?.engine.close();
  }

  #see(seen: Observation): void {
    this.#seen++;
    this.#setting.see(seen);
  }

  #tag(): string {
    return `${this.#gen}.${++this.#tags}`;
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

  /** Until nothing more is seen to happen. */
  async #settle(ticks = 5): Promise<void> {
    for (let quiet = 0, last = -1, round = 0; quiet < ticks && round < 400; round++) {
      await tick();
      const now = this.#setting.ground.reader.lastPosition() * 1000 + this.#seen;
      quiet = now === last ? quiet + 1 : 0;
      last = now;
    }
  }

  #addressOf(index: number): string {
    const rows = this.#setting.ground.reader.actors({}, { limit: 1000 });
    return [...rows.map(({ address }) => address), "m0/nobody"][index % (rows.length + 1)] as string;
  }

  async #do(op: Op): Promise<void> {
    const { engine, owner, points } = this.#living;
    const swallow = (promise: Promise<unknown>) =>
      promise.catch((error) => void (error instanceof HoldfastError || this.#mustBeDead(error)));
    switch (op.op) {
      case "burst":
        await this.#burst(this.#living, op.sends);
        break;
      case "forge":
        await this.#ask(this.#addressOf(op.actor), RESERVED[op.type % RESERVED.length] as string, this.#tag(), "outside");
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
        await Promise.all([this.#burst(old, op.sends), this.#burst(this.#living, op.sends)]);
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
        const address = this.#addressOf(op.actor);
        const actor = engine.get(this.#machineOf(address), address.slice(3));
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
        await swallow(engine.release(this.#addressOf(op.actor), { discard: op.discard }));
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

  #machineOf(address: string): AnyStateMachine {
    return this.machines[Number(address[1])] as AnyStateMachine;
  }

  async #create(address: string, start: number): Promise<void> {
    const { engine, owner } = this.#living;
    await engine
      .create(this.#machineOf(address), address.slice(3), { input: { start } })
      .catch((error) => void (error instanceof HoldfastError || owner.state.cut || Promise.reject(error)));
  }

  /** Events that share a tick. */
  async #burst(living: Living, sends: readonly Send[]): Promise<void> {
    await Promise.all(
      sends.map((send) => {
        const type = EVENTS[send.event % EVENTS.length] as string;
        const actor = this.#addressOf(send.actor);
        const key = living.owner.state.fenced ? null : send.key;
        const other = this.#addressOf(send.actor + 1);
        const seq = (this.#setting.ground.reader.actor(other)?.seq ?? 0) + (send.expect === "wrong" ? 1000 : 0);
        const tag = key === null ? this.#tag() : `${actor} key ${key}`;
        return this.#ask(actor, type, tag, "outside", {
          living,
          v: key ?? send.v,
          key,
          ...(send.expect ? { expect: { actor: other, seq } } : {}),
        });
      }),
    );
  }

  async #ask(
    actor: string,
    type: string,
    tag: string,
    how: "outside" | "ping",
    options: { living?: Living; v?: number; key?: string | number | null; expect?: { actor: string; seq: number } } = {},
  ): Promise<void> {
    const { living = this.#living, v = 1, expect } = options;
    const { engine, owner } = living;
    const key = options.key === undefined || options.key === null ? null : String(options.key);
    const row = this.#setting.ground.reader.actor(actor);
    // Under a key the event must be the same whoever sends it.
    const event = how === "ping" ? { type, tag, gen: owner.gen } : { type, v, tag, ...(key === null ? { gen: owner.gen } : {}) };
    const ref = engine.get(this.#machineOf(actor), actor.slice(3));
    if (!ref) return;
    this.counts.events++;
    const wrong = (expect?.seq ?? 0) >= 1000;
    const known = {
      saw: "answer" as const,
      gen: owner.gen,
      actor,
      type,
      tag,
      key,
      how,
      wrong,
      was: standing(row),
      fenced: owner.state.fenced,
    };
    const sent = ref.send(event as never, { ...(key === null ? {} : { key }), ...(expect ? { expect: [expect] } : {}) });
    await this.#answered(owner, known, sent);
  }

  /** An event that a handler sent to its own actor. */
  async #sent(owner: Owner, call: EffectCall, { type, tag }: { type: string; tag: string }): Promise<void> {
    const { actor } = call;
    const was = standing(this.#setting.ground.reader.actor(actor));
    const known = { saw: "answer" as const, gen: owner.gen, actor, type, tag, key: null, how: "handler" as const, wrong: false, was };
    const sent = call.send({ type, v: 3, tag, gen: owner.gen } as { type: string });
    await this.#answered(owner, { ...known, fenced: owner.state.fenced }, sent);
  }

  /** What a dead process was answered, nobody has heard. */
  async #answered(
    owner: Owner,
    known: Omit<Answered, "came" | "seq" | "repeated" | "failed">,
    sent: Promise<{ kind: string; seq?: number; code?: string; repeated?: true }>,
  ): Promise<void> {
    try {
      const { kind, seq, code, repeated } = await sent;
      if (!owner.state.cut)
        this.#see({
          ...known,
          came: kind === "refused" ? String(code) : kind,
          seq: seq ?? null,
          repeated: repeated === true,
          failed: false,
        });
    } catch (error) {
      if (owner.state.cut) return;
      const came = error instanceof HoldfastError ? error.code : `thrown: ${String(error)}`;
      this.#see({ ...known, came, seq: null, repeated: false, failed: true });
    }
  }
}

function standing(row: ActorRow | undefined): Answered["was"] {
  if (!row) return "missing";
  return row.quarantine ? "quarantined" : row.status;
}
