/** Embedding: what a program gives the runtime besides a store, checked once. */

import { DRIFT_POLICY, type DriftPolicy } from "../../machines/index.ts";
import type { Backend } from "./backend.ts";
import type { LookUpDenials } from "./denial.ts";
import { agentError } from "./error.ts";
import type { InspectSurroundings } from "./surroundings.ts";

/** Backends, and what decides about continuations besides the machines. */
export interface EmbeddingOptions {
  /** Backends by the name under which sessions ask for them. */
  readonly backends: Readonly<Record<string, Backend>>;
  /** Looks at a session's surroundings before a run's first step and before each continuation. Default: directory and tools. */
  readonly inspect?: InspectSurroundings;
  /** A record of denied permissions besides Holdfast's own. */
  readonly denials?: LookUpDenials;
  /** Fields in which a composition may differ from the one that it must agree with; the others stay as `DRIFT_POLICY` says. */
  readonly driftPolicy?: Partial<DriftPolicy>;
  /** False: ended runs are not continued in new turns. Handoffs do not mind. Default true. */
  readonly continuations?: boolean;
}

/** The same, with its defaults. */
export interface Embedding {
  readonly backends: Readonly<Record<string, Backend>>;
  readonly inspect?: InspectSurroundings;
  readonly denials?: LookUpDenials;
  readonly driftPolicy: DriftPolicy;
  readonly continuations: boolean;
}

/** Throws `argument_invalid` for an option that does not fit. */
export function embeddingOf({ backends, inspect, denials, driftPolicy = {}, continuations = true }: EmbeddingOptions): Embedding {
  const bad = (path: string, problem: string) => agentError("argument_invalid", `${path} ${problem}`, { details: { path } });
  for (const [name, hook] of Object.entries({ inspect, denials }))
    if (hook !== undefined && typeof hook !== "function") throw bad(name, "is not a function");
  if (typeof continuations !== "boolean") throw bad("continuations", "is neither true nor false");
  if (typeof driftPolicy !== "object" || driftPolicy === null) throw bad("driftPolicy", "is not an object");
  for (const [field, rule] of Object.entries(driftPolicy)) {
    if (!Object.hasOwn(DRIFT_POLICY, field))
      throw bad(`driftPolicy.${field}`, `is no field; they are ${Object.keys(DRIFT_POLICY).join(", ")}`);
    if (rule !== "refuse" && rule !== "allow") throw bad(`driftPolicy.${field}`, "is neither refuse nor allow");
  }
  return {
    backends,
    continuations,
    driftPolicy: { ...DRIFT_POLICY, ...driftPolicy },
    ...(inspect ? { inspect } : {}),
    ...(denials ? { denials } : {}),
  };
}
