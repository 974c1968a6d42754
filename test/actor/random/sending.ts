/** Sending: events to actors, from outside and by handlers, with what came of them. */

import type { AnyStateMachine } from "xstate";
import type { Engine } from "../../../src/actor/engine.ts";
import { HoldfastError } from "../../../src/actor/error.ts";
import type { EffectCall } from "../../../src/actor/handler.ts";
import type { ActorRow, StoreReader } from "../../../src/actor/store.ts";
import type { FaultPoints } from "../../../src/testing/index.ts";
import type { Answered, Observation } from "./observation.ts";
import { EVENTS, type Send } from "./spec.ts";
import type { Owner } from "./world.ts";

/** An owner with its engine. */
export interface Living {
  readonly engine: Engine;
  readonly owner: Owner;
  readonly points: FaultPoints;
}

export class Sending {
  readonly see: (seen: Observation) => void;
  readonly #reader: StoreReader;
  readonly #machines: readonly AnyStateMachine[];
  #tags = 0;
  /** How many were sent from outside. */
  events = 0;

  constructor(reader: StoreReader, machines: readonly AnyStateMachine[], see: (seen: Observation) => void) {
    this.#reader = reader;
    this.#machines = machines;
    this.see = see;
  }

  /** A name that no other event has. */
  tag({ gen }: Owner): string {
    return `${gen}.${++this.#tags}`;
  }

  machineOf(address: string): AnyStateMachine {
    return this.#machines[Number(address[1])] as AnyStateMachine;
  }

  /** One of the actors that are there, or one that is not. */
  addressOf(index: number): string {
    const rows = this.#reader.actors({}, { limit: 1000 });
    return [...rows.map(({ address }) => address), "m0/nobody"][index % (rows.length + 1)] as string;
  }

  /** Events that share a tick. */
  async burst(living: Living, sends: readonly Send[]): Promise<void> {
    await Promise.all(
      sends.map((send) => {
        const type = EVENTS[send.event % EVENTS.length] as string;
        const actor = this.addressOf(send.actor);
        const key = living.owner.state.fenced ? null : send.key;
        const other = this.addressOf(send.actor + 1);
        const seq = (this.#reader.actor(other)?.seq ?? 0) + (send.expect === "wrong" ? 1000 : 0);
        const tag = key === null ? this.tag(living.owner) : `${actor} key ${key}`;
        return this.ask(living, actor, type, tag, "outside", {
          v: key ?? send.v,
          key,
          ...(send.expect ? { expect: { actor: other, seq } } : {}),
        });
      }),
    );
  }

  async ask(
    living: Living,
    actor: string,
    type: string,
    tag: string,
    how: "outside" | "ping",
    options: { v?: number; key?: string | number | null; expect?: { actor: string; seq: number } } = {},
  ): Promise<void> {
    const { v = 1, expect } = options;
    const { engine, owner } = living;
    const key = options.key === undefined || options.key === null ? null : String(options.key);
    const row = this.#reader.actor(actor);
    // Under a key the event must be the same whoever sends it.
    const event = { type, ...payloadOf(type, v), tag, ...(key === null ? { gen: owner.gen } : {}) };
    const ref = engine.get(this.machineOf(actor), actor.slice(3));
    if (!ref) return;
    this.events++;
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
  async sent(owner: Owner, call: EffectCall, { type, tag }: { type: string; tag: string }): Promise<void> {
    const { actor } = call;
    const was = standing(this.#reader.actor(actor));
    const known = { saw: "answer" as const, gen: owner.gen, actor, type, tag, key: null, how: "handler" as const, wrong: false, was };
    const sent = call.send({ type, ...payloadOf(type, 3), tag, gen: owner.gen } as { type: string });
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
        this.see({
          ...known,
          came: kind === "refused" ? String(code) : kind,
          seq: seq ?? null,
          repeated: repeated === true,
          failed: false,
        });
    } catch (error) {
      if (owner.state.cut) return;
      const came = error instanceof HoldfastError ? error.code : `thrown: ${String(error)}`;
      this.see({ ...known, came, seq: null, repeated: false, failed: true });
    }
  }
}

/** What fits the event's schema: nothing but its type shall be wrong with an event that only the engine makes. */
function payloadOf(type: string, v: number): object {
  if (/^e\./.test(type)) return { v };
  if (type.endsWith(".done")) return { output: { gen: 0, value: v }, effect: "forged" };
  if (type.endsWith(".failed")) return { error: { code: "forged", message: "" }, effect: "forged" };
  const parts = {
    "work.aborted": { effect: "forged" },
    "effect.unknown": { effect: "forged", name: "once" },
    "engine.reopened": { epoch: 1 },
  };
  const told = { "engine.quarantined": { actor: "m0/a", code: "forged" }, "engine.released": { actor: "m0/a" } };
  return { ...parts, ...told }[type] ?? {};
}

function standing(row: ActorRow | undefined): Answered["was"] {
  if (!row) return "missing";
  return row.quarantine ? "quarantined" : row.status;
}
