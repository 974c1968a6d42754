/** Handlers whose conduct is drawn by effect and attempt, and who say what they saw when they were called. */

import { createHash } from "node:crypto";
import type { EffectCall, EffectHandler } from "../../../src/actor/handler.ts";
import type { StoreReader } from "../../../src/actor/store.ts";
import type { Observation } from "./observation.ts";
import { type Conduct, EFFECTS, EVENTS, RESERVED } from "./spec.ts";
import type { Owner } from "./world.ts";

/** Handlers that one case calls before all of them wait: random machines ask for work without an end. */
const CALLS = 60;

/** What handlers know of the run that they are in. */
export interface Stage {
  readonly reader: StoreReader;
  readonly conducts: readonly Conduct[];
  calls: number;
  see(seen: Observation): void;
  /** Tells what came of an event that a handler sent to its actor. */
  sent(owner: Owner, call: EffectCall, event: { type: string; tag: string }): Promise<void>;
}

const never = () => new Promise<never>(() => {});

/** A number that this text always has. */
export function numberOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE(0);
}

function interrupted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** The handlers of one owner. */
export function handlersOf(stage: Stage, owner: Owner): Record<string, EffectHandler> {
  const handler =
    (name: string): EffectHandler =>
    async (call) => {
      const { state, gen, clock } = owner;
      if (state.cut) return never();
      stage.see({ saw: "call", gen, key: call.key, name, ...standing(stage.reader, call.key) });
      const interruption = interrupted(call.signal);
      interruption.catch(() => {});
      const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
      const output = { gen, value: numberOf(call.key) % 10 };
      if (++stage.calls > CALLS) return interruption;
      const conduct = stage.conducts[numberOf(`${call.key} ${call.attempt}`) % stage.conducts.length];
      switch (conduct) {
        case "fails":
          throw new Error("the handler fails");
        case "fails for good":
          throw Object.assign(new Error("the handler fails"), { retryable: false });
        case "wrong":
          return { nonsense: true };
        case "never":
          return interruption;
        case "slow":
          await Promise.race([wait(300), interruption]);
          break;
        case "deaf":
          await wait(700);
          break;
        case "sends":
          await stage.sent(owner, call, {
            type: EVENTS[output.value % EVENTS.length] as string,
            tag: `${call.key} ${gen} ${stage.calls}`,
          });
          break;
        case "forges":
          await stage.sent(owner, call, {
            type: RESERVED[output.value % RESERVED.length] as string,
            tag: `forged ${call.key} ${gen} ${stage.calls}`,
          });
          break;
        case "progress":
          call.progress(output);
          break;
      }
      return state.cut ? never() : output;
    };
  return Object.fromEntries([...EFFECTS, "load"].map((name) => [name, handler(name)]));
}

/** What can be read of an effect: whether the entry that requests it is there, and its row. */
function standing(reader: StoreReader, key: string): { requested: boolean; row: string | null } {
  const [, actor = "", seq, index] = /^(.*):(\d+):(\d+)$/.exec(key) ?? [];
  const entry = reader.journal(actor, { after: Number(seq) - 1, limit: 1 })[0];
  const request = entry && JSON.parse(entry.actions)[Number(index)];
  return { requested: entry?.seq === Number(seq) && request?.type === "effect", row: reader.effect(key)?.state ?? null };
}
