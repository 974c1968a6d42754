/** Stopping a turn, by whoever has a handle on it. */

import type { session as sessionMachine } from "../../machines/index.ts";
import type { ActorRef } from "../actor/actor-ref.ts";
import { codedError, declined } from "./error.ts";

/** How a turn is stopped. */
export interface StopOptions {
  /** Who wants it: a person (the default), or a host that shuts down. */
  readonly by?: "user" | "shutdown";
}

/** Tells the session, which routes it to whoever decides. Throws `run_not_active`, `stop_in_progress`, `session_blocked`. */
export async function stopTurn(session: ActorRef<typeof sessionMachine>, turnId: string, { by = "user" }: StopOptions): Promise<void> {
  const answer = await session.send({ type: "turn.stop", turnId, by });
  if (answer.kind === "ignored") throw declined(answer.reason ?? "run_not_active", `the session ${session.id}`);
  if (answer.kind === "refused") throw codedError(answer.code === "actor_final" ? "run_not_active" : answer.code, answer.message);
}
