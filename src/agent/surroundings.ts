/** Surroundings: what a turn's work depends on and no journal holds: the place, work in the background, the tools that are there. */

import { realpath } from "node:fs/promises";
import { z } from "zod";
import { firstIssue } from "../actor/input.ts";
import type { Backend } from "./backend.ts";
import { agentError } from "./error.ts";

/** What an embedder saw around a session. */
export interface Surroundings {
  /**
   * Identity of the place where tools work, at most 4,096 characters: the same text where it is the same place, also on another host.
   * Null where it cannot be told; a turn that was begun there cannot be continued.
   */
  readonly workspace: string | null;
  /** False while work that a tool began may still go on outside of it. */
  readonly backgroundSettled: boolean;
  /** Names of the tools that the next run would have, at most 1,024; their order does not matter. */
  readonly tools: readonly string[];
}

/** What is to be looked at. */
export interface SurroundingsInput {
  readonly sessionId: string;
  readonly backend: string;
  readonly cwd: string;
}

/** Looks at a session's surroundings. */
export type InspectSurroundings = (input: SurroundingsInput) => Surroundings | Promise<Surroundings>;

const schema = z.strictObject({
  workspace: z.string().min(1).max(4096).nullable(),
  backgroundSettled: z.boolean(),
  tools: z.array(z.string().min(1).max(128)).max(1024),
});

/**
 * What an embedder's `inspect` saw; without one, the real path of the session's directory, nothing in the background, and the
 * backend's own tools. Names are sorted and unique. Throws `surroundings_unreadable`.
 */
export async function inspectSurroundings(
  { sessionId, backend: name, cwd }: SurroundingsInput,
  backend: Backend | undefined,
  inspect?: InspectSurroundings,
): Promise<Surroundings> {
  let seen: unknown;
  try {
    seen = inspect ? await inspect({ sessionId, backend: name, cwd }) : await seenByItself(cwd, backend);
  } catch (cause) {
    throw agentError("surroundings_unreadable", `the surroundings of session ${sessionId} could not be inspected`, { cause });
  }
  const parsed = schema.safeParse(seen);
  if (!parsed.success) {
    const { path, message } = firstIssue(parsed.error);
    throw agentError("surroundings_unreadable", `what inspect gave does not fit: ${path} ${message}`, { details: { path } });
  }
  return { ...parsed.data, tools: [...new Set(parsed.data.tools)].sort() };
}

async function seenByItself(cwd: string, backend: Backend | undefined): Promise<Surroundings> {
  // A directory that is gone has no identity, and is no reason for an error of its own.
  const workspace = await realpath(cwd).catch(() => null);
  return { workspace, backgroundSettled: true, tools: (backend?.tools ?? []).map(({ name }) => name) };
}
