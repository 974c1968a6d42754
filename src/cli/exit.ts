/** What an error makes of a command: its code, its document, its exit code. */

import { HoldfastError, messageOf } from "../actor/error.ts";
import { cliError, entryOf } from "./error.ts";

/** Exit codes; see the design's command line. */
export const EXIT = { done: 0, failed: 1, refused: 2, interrupted: 130 } as const;

export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** The exit code of an error that ends a command. */
export function exitOf(error: unknown): Exit {
  if (!(error instanceof HoldfastError)) return EXIT.failed;
  if (error.code === "command_interrupted") return EXIT.interrupted;
  // A run that was created and failed is a failure, whatever its code.
  if (error.details.run !== undefined) return EXIT.failed;
  // A code without an entry is somebody's own, from a handler or a machine.
  const entry = entryOf(error.code);
  return error.details.parked === true || (entry && !entry.failure) ? EXIT.refused : EXIT.failed;
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
