/** Build: a machine from its spec, by `setup().createMachine()`, as a user would write it. */

import { type AnyStateMachine, and, assign, cancel, emit, enqueueActions, fromPromise, raise, setup } from "xstate";
import { z } from "zod";
import { effect, engineActions } from "../../../machines/action.ts";
import {
  type Act,
  DELAY_NAMES,
  DELAYS,
  EFFECTS,
  EVENTS,
  firstActors,
  type MachineSpec,
  type Move,
  type Node,
  nodeIds,
  POLICIES,
} from "./spec.ts";

/** Moves by `always` and `onDone` and raised events that one actor has in its life: random machines lead in circles. */
const HOPS = 24;

const small = z.int().min(0).max(49);
/** By which an event is known again, also where somebody forges one that only the engine makes. */
const sign = { tag: z.string().optional(), gen: z.int().optional() };
const payload = z.strictObject({ v: z.int(), ...sign });
const result = z.strictObject({ output: z.strictObject({ gen: z.int(), value: z.int() }), effect: z.string(), ...sign });
const failure = z.strictObject({ error: z.strictObject({ code: z.string(), message: z.string() }), effect: z.string(), ...sign });
const withEffect = z.strictObject({ effect: z.string(), ...sign });
const params = z.strictObject({ node: z.string(), visit: z.int() });

const schemas = {
  input: z.strictObject({ start: z.int() }),
  context: z.strictObject({ n: small, hops: z.int(), visits: z.record(z.string(), z.int()), last: z.string() }),
  events: {
    ...Object.fromEntries(EVENTS.map((type) => [type, payload])),
    ...Object.fromEntries(DELAY_NAMES.map((delay) => [`tick.${delay}`, z.strictObject({})])),
    ping: z.strictObject({ tag: z.string(), gen: z.int() }),
    "work.done": result,
    "work.failed": failure,
    "work.aborted": withEffect,
    "once.done": result,
    "once.failed": failure,
    "task.done": result,
    "sole.done": result,
    "effect.unknown": z.strictObject({ effect: z.string(), name: z.string(), ...sign }),
    "engine.reopened": z.strictObject({ epoch: z.int(), ...sign }),
    "engine.quarantined": z.strictObject({ actor: z.string(), code: z.string(), ...sign }),
    "engine.released": z.strictObject({ actor: z.string(), ...sign }),
  },
  facts: { told: z.strictObject({ n: z.int() }) },
  effects: {
    work: { params, done: "work.done", failed: "work.failed", aborted: "work.aborted", delivery: "at_least_once", attempts: 3 },
    once: { params, done: "once.done", failed: "once.failed", delivery: "at_most_once" },
    task: { params, done: "task.done", delivery: "at_least_once", attempts: 2, timeoutMs: 10_000, concurrency: 2 },
    sole: { params, done: "sole.done", delivery: "at_most_once" },
  },
  delays: POLICIES,
};

const isHit = (n: number, mod: number) => n % mod === mod - 1;
const broken = (what: string): never => {
  throw new Error(`${what} is broken`);
};
type Told = { context: any; event: any };

const actions = {
  ...engineActions,
  ...Object.fromEntries(EFFECTS.map((name) => [name, effect<any>()])),
  visit: assign(({ context }: Told, { node }: any) => ({ visits: { ...context.visits, [node]: (context.visits[node] ?? 0) + 1 } })),
  hop: assign(({ context }: Told) => ({ hops: context.hops + 1 })),
  ping: assign(({ event }: Told) => ({ last: event.tag })),
  bump: assign(({ context }: Told, { by }: any) => ({ n: (context.n + by) % 50 })),
  take: assign(({ context, event }: Told) => ({ n: (context.n + (event?.v ?? 1)) % 50, last: event?.tag ?? context.last })),
  boom: assign(({ context }: Told, { mod }: any) => (isHit(context.n, mod) ? broken("assign") : {})),
  spoil: assign(({ context }: Told, { mod }: any) => (isHit(context.n, mod) ? { n: 1000 } : {})),
  foul: assign(({ context }: Told, { mod }: any) => (isHit(context.n, mod) ? { last: Number.NaN } : {})),
  tell: emit(({ context }: Told) => ({ type: "told", n: context.n })),
  mislead: emit(({ context }: Told, { mod }: any) => ({ type: "told", n: isHit(context.n, mod) ? 0.5 : context.n })),
  raise: enqueueActions(({ context, enqueue }: any, { event, v }: any) => {
    if (context.hops >= HOPS) return;
    enqueue.assign({ hops: context.hops + 1 });
    enqueue.raise({ type: event, v });
  }),
  ...Object.fromEntries(
    DELAY_NAMES.flatMap((delay) => [
      [`later.${delay}`, raise({ type: `tick.${delay}` }, { delay } as never)],
      [`named.${delay}`, raise({ type: "e.one", v: 1 } as never, { delay, id: `r.${delay}` } as never)],
      [`cancel.${delay}`, cancel(`r.${delay}`)],
    ]),
  ),
};

const guards = {
  hasHops: ({ context }: Told) => context.hops < HOPS,
  isOdd: ({ context }: Told) => context.n % 2 === 1,
  isSmall: ({ context }: Told) => context.n < 20,
  isGiven: ({ event }: Told) => (event?.v ?? 0) > 4,
  isNever: () => false,
  isBroken: ({ context }: Told) => (isHit(context.n, 4) ? broken("guard") : true),
};

/** Where the spec's numbers lead. */
interface Place {
  readonly machine: string;
  readonly ids: readonly string[];
  readonly actors: readonly string[];
  readonly count: number;
}

const requested =
  (node: string) =>
  ({ context }: Told) => ({ node, visit: context.visits[node] ?? 0 });

function actionOf(act: Act, node: string, { actors, count }: Place): object {
  switch (act.do) {
    case "work":
    case "once":
    case "task":
    case "sole":
      return { type: act.do, params: requested(node) };
    case "raise":
      return { type: "raise", params: { event: EVENTS[act.event % EVENTS.length], v: act.v } };
    case "later":
      return { type: `${act.named ? "named" : "later"}.${act.delay}` };
    case "cancel":
      return { type: `cancel.${act.delay}` };
    case "deliver": {
      const to = [...actors, "m0/nobody"][act.to % (actors.length + 1)];
      return { type: "deliver", params: { to, event: { type: EVENTS[act.event % EVENTS.length], v: act.v } } };
    }
    case "create":
      return {
        type: "createActor",
        params: ({ context }: Told) => ({
          machine: `m${act.machine % count}`,
          id: `c${context.n}`,
          input: { start: context.n },
          keys: act.keyed ? [`key-${context.n % 8}`] : [],
        }),
      };
    case "drop":
      return { type: "cancelEffect", params: { effect: act.effect } };
    case "abort":
      return { type: "abortEffect", params: { effect: "work" } };
    default: {
      const { do: type, ...rest } = act;
      return { type, params: rest };
    }
  }
}

function transitionOf(move: Move, node: string, place: Place, hops = false): object {
  const target = move.target === null ? {} : { target: `#${place.ids[move.target % place.ids.length]}` };
  const guard = hops ? and(["hasHops", ...(move.guard === null ? [] : [move.guard])] as never) : move.guard;
  return {
    ...target,
    ...(guard === null ? {} : { guard }),
    ...(move.reenter ? { reenter: true } : {}),
    actions: [...(hops ? [{ type: "hop" }] : []), ...move.acts.map((act) => actionOf(act, node, place))],
  };
}

function stateOf(node: Node, id: string, place: Place): object {
  const own = node.states.map((child, index) => [`s${index}`, stateOf(child, `${id}.s${index}`, place)] as const);
  if (node.kind === "final") return { type: "final", entry: { type: "visit", params: { node: id } } };
  if (node.kind === "shallow" || node.kind === "deep") return { type: "history", history: node.kind, target: "s0" };
  const on: Record<string, object[]> = {};
  for (const { type, move } of node.on) on[type] = [...(on[type] ?? []), transitionOf(move, id, place)];
  const invoke = node.invoke && {
    src: "load",
    input: requested(id),
    onDone: transitionOf(node.invoke.done, id, place),
    ...(node.invoke.failed ? { onError: transitionOf(node.invoke.failed, id, place) } : {}),
  };
  return {
    ...(node.kind === "parallel" ? { type: "parallel" } : {}),
    ...(node.kind === "compound" ? { initial: "s0" } : {}),
    ...(own.length > 0 ? { states: Object.fromEntries(own) } : {}),
    entry: [{ type: "visit", params: { node: id } }, ...node.entry.map((act) => actionOf(act, id, place))],
    exit: node.exit.map((act) => actionOf(act, id, place)),
    on,
    ...(node.always ? { always: transitionOf(node.always, id, place, true) } : {}),
    after: Object.fromEntries(node.after.map(({ delay, move }) => [delay, transitionOf(move, id, place)])),
    ...(invoke ? { invoke } : {}),
    ...(node.done ? { onDone: transitionOf(node.done, id, place, true) } : {}),
  };
}

/** The machines of a case, with the ids m0, m1, … */
export function build(specs: readonly MachineSpec[]): AnyStateMachine[] {
  const actors = firstActors(specs);
  return specs.map(({ root, boss }, index) => {
    const id = `m${index}`;
    const place: Place = { machine: id, ids: nodeIds(id, root), actors, count: specs.length };
    const config = stateOf(root, id, place) as { on: Record<string, unknown> };
    const supervisor = boss === null ? {} : { supervisor: () => actors[boss % actors.length] ?? null };
    return setup({
      schemas: { ...schemas, ...supervisor },
      actions,
      guards,
      actors: { load: fromPromise(async () => 1) },
      delays: { ...DELAYS, grown: ({ context }: Told) => 30 + 10 * context.n },
    } as never).createMachine({
      ...config,
      on: { ...config.on, ping: { actions: "ping" } },
      id,
      version: "1",
      // XState's own pure functions make it without an input first, and throw that away.
      context: ({ input }: any) => ({ n: (input?.start ?? 0) % 50, hops: 0, visits: {}, last: "" }),
      output: ({ context }: Told) => ({ n: context.n }),
    } as never) as unknown as AnyStateMachine;
  });
}
