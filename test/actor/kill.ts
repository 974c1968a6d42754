/** The work that is killed and finished: counters that add, tell each other and ask for effects, with a key for each event. */

import { appendFileSync } from "node:fs";
import type { Engine } from "../../src/actor/engine.ts";
import type { EffectHandler } from "../../src/actor/handler.ts";
import { counter } from "./machine.ts";

export const machine = counter;
export const IDS = ["a", "b", "c"] as const;
const ROUNDS = 4;

/** An event that was answered `accepted`. */
export interface Acknowledged {
  readonly actor: string;
  readonly seq: number;
  readonly key: string;
}

/** What all of the work adds up to, without the at-most-once effects. */
export const CERTAIN = IDS.length * ROUNDS * (1 + 2 * 2 + 3);
/** What each at-most-once effect adds, where it was done. */
export const ONCE = 1000;
/** How many of them there are. */
export const ONCES = IDS.length * ROUNDS;

/** Handlers that write down their key before they answer. */
export function handlersThatLog(file: string): Record<string, EffectHandler> {
  const logged: EffectHandler = async ({ key, params }) => {
    appendFileSync(file, `${key}\n`);
    return { by: params.by };
  };
  const nothing: EffectHandler = async () => null;
  return { work: logged, once: logged, silent: nothing, poison: nothing };
}

/** Does all of the work, or what is left of it; `say` hears of each event that was accepted. */
export async function work(actors: Engine, say: (acknowledged: Acknowledged) => void): Promise<void> {
  await Promise.all(
    IDS.map(async (id, index) => {
      const actor = await actors.create(counter, id, { input: { start: 0 } });
      const send = async (name: string, event: Parameters<typeof actor.send>[0]): Promise<void> => {
        const answer = await actor.send(event, { key: name });
        if (answer.kind !== "accepted") throw new Error(`${id} ${name}: ${JSON.stringify(answer)}`);
        say({ actor: actor.address, seq: answer.seq, key: name });
      };
      const idle = () => actor.waitFor((snapshot) => snapshot.matches("idle"));
      const next = `counter/${IDS[(index + 1) % IDS.length]}`;
      await Promise.all(IDS.map((other) => actors.create(counter, other, { input: { start: 0 } })));
      for (let round = 0; round < ROUNDS; round++) {
        await Promise.all([
          send(`add-${round}`, { type: "count.add", by: 1 }),
          send(`tell-${round}`, { type: "count.tell", to: next, by: 2 }),
        ]);
        await idle();
        await send(`work-${round}`, { type: "work.start", by: 3 });
        await idle();
        await send(`once-${round}`, { type: "once.start", by: ONCE });
        await idle();
      }
    }),
  );
}
