/** What an error makes of a command: its code, its document, its exit code. */

import { HoldfastError, messageOf } from "../actor/error.ts";
import { cliError } from "./error.ts";

/** Exit codes; see the design's command line. */
export const EXIT = { done: 0, failed: 1, refused: 2, interrupted: 130 } as const;

export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** Codes that say: this was not begun, because it may not be, or was asked for wrongly. */
const REFUSED = new Set<string>([
  "actor_not_found",
  "argument_invalid",
  "backend_unknown",
  "continuation_already_exists",
  "continuation_claim_conflict",
  "continuation_in_progress",
  "machine_version_newer",
  "not_sealed",
  "nothing_to_resume",
  "receipt_unavailable",
  "root_insecure",
  "root_invalid",
  "root_not_found",
  "root_owned",
  "run_active",
  "run_not_active",
  "run_not_found",
  "schema_newer",
  "sealed_for_successor",
  "session_archived",
  "session_blocked",
  "session_busy",
  "session_not_found",
  "source_composition_missing",
  "source_identity_changed",
  "stop_in_progress",
  "tools_unknown",
  "turn_superseded",
]);

/** The exit code of an error that ends a command. */
export function exitOf(error: unknown): Exit {
  if (!(error instanceof HoldfastError)) return EXIT.failed;
  if (error.code === "command_interrupted") return EXIT.interrupted;
  // A run that was created and failed is a failure, whatever its code.
  if (error.details.run !== undefined) return EXIT.failed;
  return error.details.parked === true || REFUSED.has(error.code) ? EXIT.refused : EXIT.failed;
}

/** Any error as one with a code. */
export function coded(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  return cliError("command_failed", messageOf(error), { cause: error });
}

/** The one JSON document of a command that ended with an error. */
export function errorDocument(error: HoldfastError): { readonly error: Readonly<Record<string, unknown>> } {
  const { code, message, retryable, details } = error;
  return { error: { code, message, retryable, ...(Object.keys(details).length > 0 ? { details } : {}) } };
}
