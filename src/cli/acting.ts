/**
 * Acting: a state root owned for one deed by hand. Nothing is started, and nothing recovered but what parked actors were told and can
 * take now, so the deed is all that happens after it; what is opened waits for the next owner that has its handler.
 */

import { resolve } from "node:path";
import { machines as ours } from "../../machines/index.ts";
import type { Engine } from "../actor/engine.ts";
import type { ActorRow } from "../actor/store.ts";
import { openActors } from "../actors.ts";
import { oneLine } from "./format.ts";
import { type Machine, machinesOf } from "./machine-file.ts";
import { demandRoot } from "./reading.ts";
import type { CommonOptions } from "./result.ts";

/** What a command takes that acts on actors of any machine. */
export interface ActingOptions extends CommonOptions {
  readonly machines?: string;
}

/**
 * Owns the root while it acts. `cascadeLimit`: transitions of the deed, where it may take more than the engine's default. Throws
 * `root_not_found`, `root_owned` and what else opening a root may give.
 */
export async function withEngine<T>(options: ActingOptions, act: (engine: Engine) => Promise<T>, cascadeLimit?: number): Promise<T> {
  const root = resolve(options.root);
  demandRoot(root);
  const machines = await machinesFor(options);
  await using engine = await openActors({ root, machines, start: false, ...(cascadeLimit === undefined ? {} : { cascadeLimit }) });
  return await act(engine);
}

/** The machines of the file that was given, or this program's own. */
export async function machinesFor({ machines }: Pick<ActingOptions, "machines">): Promise<readonly Machine[]> {
  return machines === undefined ? ours : (await machinesOf(machines, "--machines")).map(({ machine }) => machine);
}

/** What is told of an actor that was acted on. */
export function stateOf({ address, state, status, seq }: ActorRow) {
  return { actor: address, state, final: status === "final", entries: seq };
}

/** Effects of an actor that are open now and were not before: for the next owner to run. */
export function openedSince(engine: Engine, actor: string, before: ReadonlySet<string>): { readonly key: string; readonly name: string }[] {
  return engine
    .effects({ actor, state: "open" }, { limit: 1000 })
    .filter(({ key }) => !before.has(key))
    .map(({ key, name }) => ({ key, name }));
}

/** The line that says who runs what was opened. */
export function waitsForOwner(opened: readonly { readonly name: string }[]): string[] {
  if (opened.length === 0) return [];
  const names = opened.map(({ name }) => oneLine(name)).join(", ");
  return [`Nothing was run here: ${names} ${opened.length === 1 ? "waits" : "wait"} for the next owner with the handler.`];
}
