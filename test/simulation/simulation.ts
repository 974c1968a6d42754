/**
 * Simulation: many sessions, hosts that come and go, and all that may happen to them, drawn from one seed, in one process.
 *
 * An event is taken when everything is at rest, and everything is held against the oracle when it is at rest again. Nothing else
 * drives it: the clock is simulated, ids are counted, and whatever a backend does waits for its turn on the desk.
 */

import { createHash } from "node:crypto";
import { simulatedClock } from "../../src/testing/index.ts";
import "../../src/actor/handling.ts";
import { machines } from "../../machines/index.ts";
import { AlarmOracle, alarm } from "./alarm.ts";
import { Asking } from "./asking.ts";
import { Audit } from "./audit.ts";
import { Caller } from "./caller.ts";
import { Chance } from "./chance.ts";
import { Desk } from "./desk.ts";
import { FAULTS, memoryGround, type Sabotage, sqliteGround } from "./ground.ts";
import { Host, POINTS, type Scene, type Strike } from "./host.ts";
import { Oracle } from "./oracle.ts";
import { Waiting } from "./waiting.ts";

/** What is simulated. */
export interface Plan {
  readonly seed: number;
  /** Events. */
  readonly steps: number;
  readonly store?: "memory" | "sqlite";
  /** Breaks the engine. */
  readonly sabotage?: Sabotage;
}

export interface Violation {
  readonly seed: number;
  /** The event after which it was found. */
  readonly step: number;
  readonly what: string;
}

/** What came of it. */
export interface Report {
  readonly seed: number;
  /** Events taken. */
  readonly steps: number;
  readonly sessions: number;
  readonly runs: number;
  readonly crashes: number;
  readonly takeovers: number;
  /** How often a store failed as planned; a plan may fail more than once, or never come to it. */
  readonly faults: number;
  readonly handoffs: number;
  readonly entries: number;
  /** SHA-256 over the heads of all journals. */
  readonly digest: string;
  readonly violations: readonly Violation[];
}

/** Ticks in which nothing is seen to happen before everything counts as at rest. */
const QUIET = 4;
/** How long after a store failed an alarm that is due may wait. The engine looks at its timers again after half of it. */
const RETRY_MS = 2000;
const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

const EVENTS = {
  ...{ desk: 420, session: 440, burst: 60, clock: 30, alarm: 25, fault: 14, recover: 4 },
  ...{ death: 4, strike: 6, takeover: 3, reopen: 3, zombie: 25 },
} as const;
type EventName = keyof typeof EVENTS;

class Simulation {
  readonly #plan: Plan;
  readonly #chance: Chance;
  readonly #scene: Scene;
  readonly #oracle: Oracle;
  readonly #alarms: AlarmOracle;
  readonly #audits: readonly Audit[];
  readonly #waiting = new Waiting();
  readonly #caller: Caller;
  readonly #asking: Asking;
  readonly #violations: Violation[] = [];
  readonly #counts = { crashes: 0, takeovers: 0, faults: 0 };
  #host!: Host;
  /** Hosts that were robbed of their roots and do not know it. */
  #zombies: Host[] = [];
  #gen = 0;
  #step = 0;
  #stirs = 0;
  /** The latest time at which a store failed. */
  #failedMs = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#chance = new Chance(`${plan.seed}`);
    const ground = plan.store === "sqlite" ? sqliteGround : memoryGround;
    const violated = (what: string) => this.#violated(what);
    const stirred = () => void this.#stirs++;
    const [sessions, alarms] = [ground(), ground()];
    this.#oracle = new Oracle(sessions.reader, violated);
    this.#alarms = new AlarmOracle(alarms.reader, violated);
    this.#audits = [new Audit(sessions.reader, machines, violated), new Audit(alarms.reader, [alarm], violated)];
    const oracle = this.#oracle;
    this.#scene = {
      ...{ sessions, alarms, clock: simulatedClock(), desk: new Desk(), chance: this.#chance.split("backend") },
      sabotage: plan.sabotage ?? ((store) => store),
      witness: {
        ...{ stirred, violated },
        failed: () => {
          this.#counts.faults++;
          // Of a clock that was set back meanwhile: who waits since a later time still waits.
          this.#failedMs = Math.max(this.#failedMs, this.#scene.clock.now());
        },
        prepared: (input) => oracle.prepared(input),
        stepped: (input) => oracle.stepped(input),
        executed: (runId, callId) => oracle.executed(runId, callId),
        flushed: (runId) => oracle.flushed(runId),
      },
    };
    this.#caller = new Caller({ oracle, waiting: this.#waiting, violated, stirred, failures: () => this.#counts.faults });
    this.#asking = new Asking(this.#chance.split("asking"), this.#caller, oracle.ledger);
  }

  /** All of it. */
  async run(): Promise<Report> {
    const { steps } = this.#plan;
    try {
      await this.#begin(null);
      while (this.#step < steps && !this.#isOver) {
        this.#step++;
        await this.#take();
      }
      if (!this.#isOver) await this.#finish();
      return this.#report();
    } finally {
      for (const host of [...this.#zombies, this.#host]) host?.bury();
      this.#scene.sessions.close();
      this.#scene.alarms.close();
    }
  }

  /** What comes after a violation may follow from it. */
  get #isOver(): boolean {
    return this.#violations.length > 0;
  }

  #violated(what: string): void {
    this.#violations.push({ seed: this.#plan.seed, step: this.#step, what });
  }

  /** One event, all that comes of it, and the verdict. */
  async #take(): Promise<void> {
    const { size } = this.#scene.desk;
    const weights = { ...EVENTS, desk: size > 0 ? EVENTS.desk : 0, zombie: this.#zombies.length > 0 ? EVENTS.zombie : 0 };
    const name = this.#chance.weighted<EventName>(weights) as EventName;
    await this.#happen(name);
    await this.#rest();
    if (this.#host.isCut) await this.#revive();
  }

  async #happen(name: EventName): Promise<void> {
    const { clock } = this.#scene;
    switch (name) {
      case "desk":
        return this.#letGo();
      case "session":
        return this.#asking.ask(this.#host, true);
      case "burst":
        for (let left = 2 + this.#chance.below(3); left > 0; left--)
          this.#chance.of(0.5) ? this.#letGo() : this.#asking.ask(this.#host, true);
        return;
      case "clock":
        return clock.advance(this.#jump());
      case "alarm":
        return this.#asking.alarm(this.#host);
      case "fault":
        this.#host.standing.fault = { kind: this.#chance.pick(FAULTS) ?? "busy", left: 1 + this.#chance.below(2) };
        return;
      case "recover":
        return this.#caller.recover(this.#host);
      case "death":
        return this.#host.cut();
      case "strike":
        this.#host.strike = this.#strike();
        return;
      case "takeover":
        return this.#takeOver();
      case "reopen":
        return this.#reopen();
      case "zombie":
        return this.#rise();
    }
  }

  #jump(): number {
    const kind = this.#chance.weighted({ short: 50, long: 20, hour: 10, back: 20 });
    if (kind === "back") return -this.#chance.below(20_000);
    return this.#chance.below({ short: 2000, long: 30_000, hour: 7_200_000 }[kind as "short"]);
  }

  #strike(): Strike {
    return { point: this.#chance.pick(POINTS) ?? "commit.inside", left: 1 + this.#chance.below(5) };
  }

  #letGo(): void {
    this.#chance.pick(this.#scene.desk.of((gen) => gen === this.#host.gen))?.go();
  }

  async #begin(strike: Strike | null): Promise<void> {
    for (let now = strike; ; now = null) {
      const { position } = this.#oracle;
      this.#alarms.begins(this.#scene.clock.now());
      const host = new Host(this.#scene, ++this.#gen, now);
      this.#host = host;
      let failure: unknown;
      const opened = host.open().then(
        () => host.isCut || this.#oracle.reopened(position),
        (error) => {
          failure = error;
        },
      );
      this.#waiting.add(host.gen, `the opening by host ${host.gen}`, opened, () => true);
      await this.#rest();
      if (!host.isCut && failure === undefined) return;
      if (!host.isCut) return this.#violated(`opening: ${String(failure)}`);
      this.#bury(host);
    }
  }

  /** Whoever is dead is followed by the next host, which may die while it recovers. */
  async #revive(): Promise<void> {
    this.#bury(this.#host);
    if (this.#chance.of(0.5)) this.#scene.clock.advance(this.#jump());
    await this.#begin(this.#chance.of(0.2) ? this.#strike() : null);
  }

  #bury(host: Host): void {
    this.#counts.crashes++;
    this.#waiting.forget(host.gen);
    host.bury();
  }

  /** The next host takes the roots while this one lives and knows nothing of it. */
  async #takeOver(): Promise<void> {
    this.#counts.takeovers++;
    const old = this.#host;
    old.standing.fault = null;
    old.strike = null;
    this.#zombies.push(old);
    await this.#begin(null);
    for (const gone of this.#zombies.splice(0, this.#zombies.length - 2)) {
      this.#waiting.forget(gone.gen);
      gone.bury();
    }
  }

  /** One that was robbed acts as if it were not: nothing of it may be committed (ACT-2). */
  async #rise(): Promise<void> {
    const zombie = this.#chance.pick(this.#zombies) as Host;
    this.#oracle.rest();
    const { position } = this.#oracle;
    const lying = this.#scene.desk.of((gen) => gen === zombie.gen);
    if (lying.length > 0 && this.#chance.of(0.4)) this.#chance.pick(lying)?.go();
    else this.#asking.ask(zombie, false);
    await this.#settle();
    this.#oracle.catchUp();
    if (zombie.standing.robbed)
      for (const what of this.#waiting.of(zombie.gen)) this.#violated(`waiter: ${what} is left waiting by a host that was robbed`);
    const left = this.#oracle.position - position;
    if (left > 0) this.#violated(`ACT-2: host ${zombie.gen} wrote ${left} entries under the ownership of host ${this.#host.gen}`);
  }

  /** The host ends in order, and another one comes. */
  async #reopen(): Promise<void> {
    const host = this.#host;
    let isClosed = false;
    void host.close().then(() => {
      isClosed = true;
    });
    for (let round = 0; !isClosed && round < 100_000; round++) await tick();
    await this.#settle();
    if (!isClosed) this.#violated(`close: host ${host.gen} does not end`);
    for (const what of this.#waiting.of(host.gen)) this.#violated(`waiter: ${what} is left waiting by a host that ended`);
    this.#alarms.rests(this.#scene.clock.now());
    this.#waiting.forget(host.gen);
    host.bury();
    if (this.#chance.of(0.5)) this.#scene.clock.advance(this.#jump());
    await this.#begin(this.#chance.of(0.1) ? this.#strike() : null);
  }

  /** Until nothing is seen to happen any more. */
  async #settle(): Promise<void> {
    for (let quiet = 0, last = -1, round = 0; quiet < QUIET; round++) {
      await tick();
      const now = this.#stirs + this.#oracle.sights;
      quiet = now === last ? quiet + 1 : 0;
      last = now;
      if (round > 100_000) return this.#violated("restless: it goes on and on");
    }
  }

  /** Everything at rest, held against what is promised. */
  async #rest(): Promise<void> {
    await this.#settle();
    this.#oracle.rest();
    for (const audit of this.#audits) audit.rest();
    if (this.#host.isCut) return;
    for (const what of this.#waiting.overdue(this.#host.gen)) this.#violated(`waiter: ${what} is left waiting`);
    for (const what of this.#caller.unanswered()) this.#violated(`waiter: ${what} has no answer`);
    // What could not be fired is tried again after a wait.
    const nowMs = this.#scene.clock.now();
    if (nowMs > this.#failedMs + RETRY_MS) this.#alarms.rest(nowMs);
  }

  #verify(): void {
    if (this.#host.isCut || this.#host.standing.fault) return;
    for (const { code, actor, message } of this.#host.runtime.verify().faults) this.#violated(`verify: ${code} ${actor}: ${message}`);
    for (const { code, actor, message } of this.#host.alarms.verify().faults) this.#violated(`verify: ${code} ${actor}: ${message}`);
  }

  /** One more host without faults, time for what is due, and a look at everything. */
  async #finish(): Promise<void> {
    await this.#reopen();
    if (this.#host.isCut) await this.#revive();
    this.#host.strike = null;
    this.#scene.clock.advance(60_000);
    await this.#rest();
    this.#verify();
  }

  #report(): Report {
    const { ledger } = this.#oracle;
    const heads = [...ledger.actors].map(([actor, { seq, hash }]) => [actor, seq, hash]);
    return {
      seed: this.#plan.seed,
      steps: this.#step,
      sessions: ledger.sessions.size,
      runs: ledger.runs.size,
      ...this.#counts,
      handoffs: ledger.handoffs.size,
      entries: this.#oracle.position,
      digest: createHash("sha256").update(JSON.stringify(heads)).digest("hex"),
      violations: this.#violations,
    };
  }
}

/** Simulates; equal plans give equal reports. */
export function simulate(plan: Plan): Promise<Report> {
  return new Simulation(plan).run();
}
