/** Asking: which request comes next, and of whom; what is likely depends on where a session is. */

import { alarm, POLICIES } from "./alarm.ts";
import type { RunBook, SessionBook } from "./book.ts";
import type { Caller } from "./caller.ts";
import type { Chance } from "./chance.ts";
import type { Host } from "./host.ts";
import type { Ledger } from "./ledger.ts";

/** Sessions that are not archived, at most. */
const LIVE = 12;

export class Asking {
  readonly #chance: Chance;
  readonly #caller: Caller;
  readonly #ledger: Ledger;
  #live: string[] = [];
  #created = 0;

  constructor(chance: Chance, caller: Caller, ledger: Ledger) {
    this.#chance = chance;
    this.#caller = caller;
    this.#ledger = ledger;
  }

  /** Something is asked of a session; where `mayCreate`, of a new one while there are few. */
  ask(host: Host, mayCreate: boolean): void {
    this.#live = this.#live.filter((id) => !this.#ledger.sessions.get(id)?.archived);
    if (mayCreate && this.#live.length < LIVE) {
      const id = `s${++this.#created}`;
      this.#live.push(id);
      this.#caller.createSession(host, id, this.#chance);
      return;
    }
    const id = this.#chance.pick(this.#live);
    if (id === undefined) return;
    const session = this.#ledger.sessions.get(id);
    // Its creation failed, or its host died first.
    if (!session) this.#caller.createSession(host, id, this.#chance);
    else if (this.#chance.of(0.12)) this.#askOfPlan(host, session);
    else this.#askOf(host, session);
  }

  /** An alarm is set or cleared. */
  alarm(host: Host): void {
    const id = `alarm-${this.#chance.below(4)}`;
    const ms = 1 + this.#chance.below(20_000);
    const policy = this.#chance.pick(POLICIES) ?? "absolute";
    const event = this.#chance.of(0.85) ? { type: "alarm.set", ms, policy } : { type: "alarm.clear" };
    this.#caller.call(host, `tell ${id}`, async () => {
      const known = host.alarms.get(alarm, id) ?? (await host.alarms.create(alarm, id, { input: {} }));
      return known.send(event);
    });
  }

  #askOfPlan(host: Host, { id, planId, plans }: SessionBook): void {
    const plan = this.#ledger.plans.get(planId ?? this.#chance.pick(plans.slice(-2)) ?? "");
    if (plan && this.#chance.of(0.9)) this.#caller.plan(host, plan, this.#chance);
    else this.#caller.propose(host, id, this.#chance);
  }

  #askOf(host: Host, session: SessionBook): void {
    const { turn, id } = session;
    const tip = this.#ledger.runs.get(turn?.tip ?? session.runs.at(-1) ?? "");
    const moving = tip?.handoff && !tip.seal ? tip.handoff.id : undefined;
    const name = this.#chance.weighted(this.#weights(session, tip));
    if (name === "send") this.#caller.send(host, id, this.#chance);
    else if (name === "archive") this.#caller.archive(host, id);
    else if (name === "configure") this.#caller.configure(host, id, this.#chance);
    else if (name === "decide") this.#caller.decide(host, moving ?? this.#late(session.handoffs), this.#chance);
    else if (name === "answer") this.#caller.answer(host, tip?.waiting ?? this.#late(session.interactions), this.#chance);
    else if (!tip) return;
    else if (name === "check") this.#caller.check(host, tip);
    else if (name === "resume") this.#caller.resume(host, tip.id);
    else if (name === "request") this.#caller.request(host, tip);
    else this.#caller.stop(host, this.#chance.of(0.85) ? tip.id : this.#late(session.runs), this.#chance);
  }

  #weights({ turn, handoffs, interactions }: SessionBook, tip: RunBook | undefined) {
    const isSealed = tip?.seal !== null && tip !== undefined;
    const isMoving = tip?.handoff && !isSealed;
    const canContinue = !turn && tip?.outcome && tip.outcome.kind !== "completed";
    return {
      send: turn ? 2 : 45,
      archive: turn ? 1 : 14,
      configure: turn ? 1 : 4,
      stop: isSealed ? 2 : turn ? 4 : 2,
      request: turn && !isMoving && !isSealed ? 28 : 2,
      decide: isMoving ? (tip?.handoff?.stage === "held" ? 50 : 6) : handoffs.length > 0 ? 1 : 0,
      answer: tip?.waiting ? 35 : interactions.length > 0 ? 2 : 0,
      check: isSealed || canContinue ? 30 : tip ? 2 : 0,
      resume: tip && this.#caller.hasCheck(tip.id) ? 40 : 0,
    };
  }

  /** One of the latest. */
  #late(ids: readonly string[]): string {
    return this.#chance.pick(ids.slice(-4)) ?? "";
  }
}
