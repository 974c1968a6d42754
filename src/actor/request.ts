/** What a transition's requests do to the actor's open effects: which rows open, which close, which handlers are asked to stop. */

import { engineError } from "./error.ts";
import type { Registration } from "./registration.ts";
import { activeNodes } from "./scope.ts";
import type { EffectRow } from "./store.ts";
import { isFinal, type Outcome } from "./transition.ts";

/** Effects that one actor may have requested and not settled. */
export const EFFECTS_LIMIT = 1000;

export interface EffectChange {
  /** The actor's effects after the transition. */
  readonly effects: readonly EffectRow[];
  readonly opened: readonly EffectRow[];
  /** Keys of rows that end with this commit. */
  readonly closed: readonly string[];
  /** Keys of effects whose handlers are asked to stop and still report. */
  readonly aborted: readonly string[];
}

interface Transitioned {
  readonly registration: Registration;
  readonly actor: string;
  readonly seq: number;
  readonly atMs: number;
  readonly epoch: number;
  /** The effect whose outcome was taken. */
  readonly settled: string | undefined;
  readonly outcome: Outcome;
  /** The actor's effects before the transition. */
  readonly before: readonly EffectRow[];
}

/**
 * Pure. Requests are applied in the machine's order; then every effect whose state is not active any more ends, and all of them
 * where the actor has ended. A state that requests an effect again, in a later microstep or by a later event, replaces what it
 * requested before; requests of one microstep stand side by side. Throws `action_invalid` beyond `EFFECTS_LIMIT`.
 */
export function settleEffects(done: Transitioned): EffectChange {
  const { registration, outcome } = done;
  if (done.before.length === 0 && outcome.requests.length === 0) return { effects: [], opened: [], closed: [], aborted: [] };
  const active = activeNodes(outcome.snapshot);
  let effects = done.before.filter((row) => row.key !== done.settled);
  const aborted: string[] = [];
  const madeIn = new Map<string, number>();
  outcome.requests.forEach((request, index) => {
    if (request.type === "cancel") effects = effects.filter((row) => row.name !== request.effect);
    if (request.type === "abort") aborted.push(...effects.filter((row) => row.name === request.effect).map((row) => row.key));
    if (request.type !== "effect") return;
    const { step, nodes } = outcome.made[index] ?? { step: 0, nodes: active };
    const key = `${done.actor}:${done.seq}:${index}`;
    const scope = registration.scopes.get(request.name)?.find((id) => nodes.has(id)) ?? "";
    const isReplaced = (row: EffectRow) => row.name === request.name && row.scope === scope && madeIn.get(row.key) !== step;
    if (scope !== "") effects = effects.filter((row) => !isReplaced(row));
    madeIn.set(key, step);
    effects.push({
      key,
      actor: done.actor,
      name: request.name,
      params: JSON.stringify(request.params),
      scope,
      state: "open",
      epoch: done.epoch,
      openedMs: done.atMs,
      error: null,
    });
  });
  effects = isFinal(outcome.snapshot) ? [] : effects.filter((row) => row.scope === "" || active.has(row.scope));
  if (effects.length > EFFECTS_LIMIT)
    throw engineError("action_invalid", `${done.actor} would have more than ${EFFECTS_LIMIT} open effects`, {
      details: { actor: done.actor },
    });
  const kept = new Set(effects.map((row) => row.key));
  const known = new Set(done.before.map((row) => row.key));
  return {
    effects,
    opened: effects.filter((row) => !known.has(row.key)),
    closed: done.before.filter((row) => !kept.has(row.key)).map((row) => row.key),
    aborted: aborted.filter((key) => kept.has(key)),
  };
}
