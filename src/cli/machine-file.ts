/** Machine file: the machines that a module exports, by whatever name and in whatever list. */

import { statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { EngineOptions } from "../actor/engine-option.ts";
import { messageOf } from "../actor/error.ts";
import { agentError } from "../agent/error.ts";
import { cliError } from "./error.ts";

export type Machine = EngineOptions["machines"][number];

/** A machine as it was found in a module. */
export interface FoundMachine {
  /** The export's name; with an index where it is in a list. */
  readonly name: string;
  readonly machine: Machine;
}

/** How long a module may take to load, in ms. */
const LOAD_LIMIT_MS = 30_000;

/** The machines of a module, which is imported. Throws `argument_invalid`, `module_unloadable`, `machine_not_found`. */
export async function machinesOf(given: string, field: string): Promise<FoundMachine[]> {
  const file = resolve(given);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw agentError("argument_invalid", `${field}: ${file} is not a regular file; expected a module that exports machines`, {
      details: { path: field },
    });
  const found = machinesIn(await load(file, field));
  if (found.length === 0) throw cliError("machine_not_found", `${file} exports no machine of XState`, { details: { path: field } });
  return found;
}

/** Those among its exports, then those in lists among them; each once, by its own name rather than as the default. */
function machinesIn(module: Readonly<Record<string, unknown>>): FoundMachine[] {
  const { default: byDefault, ...named } = module;
  const exported = [...Object.entries(named), ["default", byDefault] as const];
  const listed = exported.flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((item: unknown, index) => [`${name}[${index}]`, item] as const) : [],
  );
  const found = new Map<Machine, FoundMachine>();
  for (const [name, machine] of [...exported, ...listed])
    if (isMachine(machine) && !found.has(machine)) found.set(machine, { name, machine });
  return [...found.values()];
}

/** Imports a module. What it prints goes to stderr: stdout is the command's. It cannot end the command either. */
async function load(file: string, field: string): Promise<Readonly<Record<string, unknown>>> {
  const { write } = process.stdout;
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof write;
  const slow = Promise.withResolvers<never>();
  const limit = setTimeout(() => slow.reject(new Error(`it was not loaded within ${LOAD_LIMIT_MS / 1000} s`)), LOAD_LIMIT_MS);
  const exit = forbidExit();
  try {
    const module = await Promise.race([import(pathToFileURL(file).href), slow.promise]);
    // One that caught what it was told is a program all the same.
    if (exit.tried) throw exit.tried;
    return module;
  } catch (cause) {
    throw cliError("module_unloadable", `${file} cannot be loaded: ${messageOf(cause)}`, { cause, details: { path: field } });
  } finally {
    exit.allow();
    clearTimeout(limit);
    process.stdout.write = write;
  }
}

/** Makes `process.exit` throw until it is allowed again: a command that a module ended would look like one that found nothing. */
function forbidExit(): { readonly tried: Error | undefined; allow(): void } {
  const { exit } = process;
  let tried: Error | undefined;
  const set = (to: typeof exit) => {
    process.exit = to;
    // For those who import it by its name.
    syncBuiltinESMExports();
  };
  set((code) => {
    tried ??= new Error(`it calls process.exit(${code ?? ""}) while it is loaded; expected a module that only exports machines`);
    throw tried;
  });
  return {
    get tried() {
      return tried;
    },
    allow: () => set(exit),
  };
}

/** By its shape: the file may have a copy of XState of its own. */
function isMachine(value: unknown): value is Machine {
  const { __xstatenode, root, config, idMap } = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  return __xstatenode === true && idMap instanceof Map && [root, config].every((part) => typeof part === "object" && part !== null);
}
