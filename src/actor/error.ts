/**
 * Boundary errors: the one class that Holdfast throws at its edges, and the engine's part of the code registry.
 *
 * Each layer contributes a table of codes; `npm run docs` writes one page per code from them. Nobody parses message text.
 */

/** What the registry says of one code: whether trying again can help, and the text of its docs page. */
export interface CodeEntry {
  /** True when the same call may succeed later without any change by the caller. */
  readonly retryable: boolean;
  /** True where something broke or is damaged; elsewhere something was refused. The command exits with 1 instead of 2. */
  readonly failure?: true;
  /** What happened, in one or two sentences. */
  readonly cause: string;
  /** What a person can do about it. */
  readonly remedy: string;
}

/** Codes of the engine and of its stores. */
export const ENGINE_CODES = {
  action_invalid: {
    retryable: false,
    failure: true,
    cause:
      "A machine requested an effect, a timer, a delivery or a creation that does not fit, or more than 1,000 effects or 1,000 timers of one actor would be open.",
    remedy: "Correct the machine: the message names the action and the problem. Nothing was written.",
  },
  actor_deleted: {
    retryable: false,
    cause: "An actor with this address ended and was deleted; its address is not given out again.",
    remedy: "Create the new actor under another id.",
  },
  actor_exists: {
    retryable: false,
    cause: "An actor with this address exists already, and was created with another input or with other keys.",
    remedy: "Use `get` for the existing actor, or create the new one under another id.",
  },
  actor_final: {
    retryable: false,
    cause: "The actor is in a final state and accepts nothing more (ACT-5).",
    remedy: "Read its snapshot: its work is over. Create a new actor for new work.",
  },
  actor_not_found: {
    retryable: false,
    cause: "No actor has this address in this state root.",
    remedy: "Check the id; `holdfast ls actors` lists what is there.",
  },
  actor_not_final: {
    retryable: false,
    cause: "Only an actor in a final state can be deleted.",
    remedy: "Let it end, or stop it, and delete it then.",
  },
  actor_not_quarantined: {
    retryable: false,
    cause: "The actor that was to be released is not in quarantine.",
    remedy: "Nothing is to be done; `holdfast ls quarantined` shows which actors are set aside.",
  },
  actor_quarantined: {
    retryable: false,
    cause: "The actor was set aside because its record is damaged or an event made by the engine could not be taken (ACT-10).",
    remedy: "Read the reason with `holdfast show ID`, mend what it names, then `holdfast release ID`; the other actors are unaffected.",
  },
  cascade_limit: {
    retryable: false,
    failure: true,
    cause: "One event led to more deliveries and creations between actors than a macrostep may have.",
    remedy: "Look for two machines that answer each other without end, or spread the work over several events.",
  },
  closed: {
    retryable: false,
    failure: true,
    cause: "The engine was closed while the call was waiting, or before it was made.",
    remedy: "Open the state root again.",
  },
  context_invalid: {
    retryable: false,
    failure: true,
    cause: "A transition produced a context that does not fit the machine's schema, or that is not plain JSON.",
    remedy: "Correct the machine: the message names the path and what was expected. Nothing was written.",
  },
  context_too_large: {
    retryable: false,
    failure: true,
    cause: "A transition would give a snapshot larger than the engine's `contextLimit`. Nothing was written.",
    remedy: "Keep large values out of the context: store them as blobs and hold their digests.",
  },
  delivery_ignored: {
    retryable: false,
    failure: true,
    cause: "An actor ignored an event that another actor delivered to it: the two machines disagree about who decides.",
    remedy: "Let the machine that owns the question move first; its receivers must take what it says.",
  },
  effect_at_work: {
    retryable: true,
    cause: "The effect that was to be retried or resolved by hand is open or started: a handler may settle it.",
    remedy: "Wait for its outcome; `holdfast ls effects` shows those that are exhausted or unknown.",
  },
  effect_gone: {
    retryable: false,
    cause: "The effect has ended, was cancelled, or never was: a handler sent an event for it, or a person wanted to retry or resolve it.",
    remedy:
      "In a handler, stop when its signal is aborted. By hand, nothing is to be done; `holdfast ls effects` shows those that are there.",
  },
  effect_result_invalid: {
    retryable: false,
    cause:
      "The result of a handler, or the outcome that `resolve` was given, does not fit the effect's event, is too large, or has no event in the machine.",
    remedy: "Correct the handler or the outcome: the message names what was expected.",
  },
  effect_timeout: {
    retryable: true,
    failure: true,
    cause: "A handler did not finish within the time that its effect type allows.",
    remedy: "Find what it waits for, or raise `timeoutMs` in the machine's effect declaration.",
  },
  effect_failed: {
    retryable: true,
    failure: true,
    cause: "A handler threw an error that has no code of its own.",
    remedy: "The message is the handler's; correct the handler or what it depends on.",
  },
  event_invalid: {
    retryable: false,
    cause: "The event's payload does not fit its schema, or is not plain JSON.",
    remedy: "Correct the payload: the message names the path and what was expected.",
  },
  event_poisoned: {
    retryable: false,
    failure: true,
    cause: "An actor could not take an event made by the engine (a result, a timer, a delivery or a notice), and was quarantined.",
    remedy: "Correct the guard or assign that threw. The quarantine record shows the event, a long one in part.",
  },
  event_reserved: {
    retryable: false,
    cause: "Only the engine makes events of this type (ACT-9): `xstate.*`, `engine.*`, `effect.*` and the results of effects.",
    remedy: "Send the request that leads to it instead.",
  },
  event_unknown: {
    retryable: false,
    cause: "The machine's schemas do not name this event type.",
    remedy: "Check the spelling, or add the event to the machine's schemas.",
  },
  expectation_failed: {
    retryable: true,
    cause: "Another actor that the caller named in `expect` is not at the expected revision any more.",
    remedy: "Read again, decide again, send again.",
  },
  fact_invalid: {
    retryable: false,
    failure: true,
    cause: "A machine emitted a fact that its schemas do not name or that does not fit its schema.",
    remedy: "Correct the machine: the message names the path and what was expected. Nothing was written.",
  },
  file_exists: {
    retryable: false,
    cause: "Something has the name of the file that was to be written. Nothing was replaced.",
    remedy: "Choose another name, or remove what is there if it is not needed.",
  },
  idempotency_conflict: {
    retryable: false,
    cause: "The key was used before for another event to the same actor.",
    remedy: "Use a new key for a new event; repeat a key only with the very same event.",
  },
  identity_taken: {
    retryable: false,
    cause: "An id or a key that the new actor should own belongs to another actor already.",
    remedy: "Choose another id, or read the actor that owns it.",
  },
  input_invalid: {
    retryable: false,
    cause:
      "What the engine was given does not fit: the input of a new actor, an id, a key, an option, a page, a retention policy, a blob, the file of a backup, or the `after` of a watch.",
    remedy: "Correct it: the message names the path and what was expected, and `details.path` is the path.",
  },
  journal_damaged: {
    retryable: false,
    failure: true,
    cause: "A row of the journal is missing, was changed, or does not follow from the row before it.",
    remedy: "Restore the state root from a backup. The message names the actor and the seq.",
  },
  machine_changed: {
    retryable: false,
    cause: "The actor was written by a machine of the same id and version whose definition was another one.",
    remedy:
      'Give the changed machine a new version and a migration; or open the root with `changed: "refold"`, which accepts it where the whole journal gives the same facts and snapshot.',
  },
  machine_invalid: {
    retryable: false,
    cause: "A machine cannot be registered: something in it cannot be made durable.",
    remedy: "Correct what the message names.",
  },
  machine_threw: {
    retryable: false,
    failure: true,
    cause: "A guard, an assign or a params function of the machine threw while it took the event (ACT-7). Nothing was written.",
    remedy:
      "Correct the machine; `cause` carries the original error. Time, ids and chance are taken from the event's stamp, as `docs/guides/supported.md` shows.",
  },
  machine_unknown: {
    retryable: false,
    cause: "No machine with this id is registered.",
    remedy: "Pass the machine to `openActors`; to a command, the file that exports it with `--machines`.",
  },
  machine_version_newer: {
    retryable: false,
    cause: "An unfinished actor was written by a newer version of its machine; an older program must not run beside its work.",
    remedy: "Start the newer program. Nothing was changed.",
  },
  machine_version_unknown: {
    retryable: false,
    cause: "The actor was written by another version of its machine and no migration is known.",
    remedy: "Run the program that knows this version. The other actors are unaffected.",
  },
  mailbox_full: {
    retryable: true,
    cause: "More events wait for this actor than its mailbox holds.",
    remedy: "Wait for earlier answers before sending more.",
  },
  migration_failed: {
    retryable: false,
    cause: "The migration to the machine's version threw, or gave an actor that the machine cannot hold. Nothing was written.",
    remedy: "Correct the migration: the message names the field. `holdfast upgrade-check` tries all of them without writing.",
  },
  node_unsupported: {
    retryable: false,
    cause: "The program runs on a Node that the SQLite binding does not run on.",
    remedy: "Run it on Node 22.19 or newer.",
  },
  not_owner: {
    retryable: false,
    failure: true,
    cause: "This process lost the ownership of the state root: another epoch is current (ACT-2). Nothing was written.",
    remedy: "Close this runtime; the present owner goes on.",
  },
  payload_too_large: {
    retryable: false,
    failure: true,
    cause: "A machine's facts or requests of one entry are larger than an entry may hold. Nothing was written.",
    remedy: "Store large values as blobs, and put their digests in facts and requests.",
  },
  fold_mismatch: {
    retryable: false,
    failure: true,
    cause: "Folding an actor's events through its machine does not give the facts, the requests or the snapshot that are stored (ACT-4).",
    remedy: "If the machine was edited without a new version, restore the former definition; else restore the state root from a backup.",
  },
  snapshot_damaged: {
    retryable: false,
    failure: true,
    cause: "The stored snapshot of an actor cannot be read, or is not the one that its journal gives.",
    remedy: "Restore the state root from a backup. The message names the actor.",
  },
  row_missing: {
    retryable: false,
    failure: true,
    cause: "The journal tells of a row that is not there: an actor, an effect, an identity, an answer or a blob.",
    remedy: "Restore the state root from a backup. The message names the row.",
  },
  row_unexpected: {
    retryable: false,
    failure: true,
    cause: "There is a row that no journal entry accounts for.",
    remedy: "Restore the state root from a backup. The message names the row.",
  },
  root_insecure: {
    retryable: false,
    cause: "The state root or a file in it can be read or written by other users.",
    remedy: "Make the directory yours alone: `chmod 700` on it, `chmod 600` on its files.",
  },
  root_invalid: {
    retryable: false,
    cause: "The path is not a directory, or its marker does not belong to its database.",
    remedy: "Name another directory; a root consists of its marker and its database together.",
  },
  root_moved: {
    retryable: false,
    cause:
      "The directory was copied or restored from elsewhere, or put in the place of another: two roots with one id would both believe that they are the only one.",
    remedy:
      "Say which it is: `holdfast adopt --moved` keeps its id (the other directory is no longer used), `holdfast adopt --copied` gives it a new one.",
  },
  root_not_found: {
    retryable: false,
    cause: "There is no state root at this path.",
    remedy: "Check `--root` (default `.holdfast`); `openActors`, `openHoldfast` and `holdfast run` create a root.",
  },
  root_owned: {
    retryable: true,
    cause: "Another process owns the state root. Its lock is released by the operating system when it ends.",
    remedy: "Wait for it or stop it. The error names its process id as a hint.",
  },
  schema_newer: {
    retryable: false,
    cause: "The database was written by a newer schema than this program knows. Nothing was changed.",
    remedy: "Use the newer program.",
  },
  schema_older: {
    retryable: false,
    cause: "The database was written by an older schema, and was to be read only. Nothing was changed.",
    remedy:
      "Look at a copy: `holdfast backup FILE`, then `holdfast adopt --copied --from FILE --root DIR`, and read that root. The root itself is brought up to date when its owner opens it with the newer program.",
  },
  storage_failed: {
    retryable: true,
    failure: true,
    cause:
      "The store could not write or read: disk full, an I/O error, or a lock held longer than the bound. The whole group of commits was rolled back.",
    remedy: "`cause` carries the store's error. Nothing was half-written; try again when it is mended.",
  },
} as const satisfies Record<string, CodeEntry>;

/** A code that the engine can give. */
export type EngineCode = keyof typeof ENGINE_CODES;

/** What an error may carry besides its code. */
export interface ErrorDetails {
  /** The field that was wrong, as a dotted path. */
  readonly path?: string;
  /** The address of the actor it is about. */
  readonly actor?: string;
  readonly [key: string]: unknown;
}

/**
 * The error that crosses Holdfast's edges. `code` is stable and has a docs page (`docs/errors/<code>.md`);
 * `retryable` says whether the same call may succeed later.
 */
export class HoldfastError extends Error {
  override readonly name = "HoldfastError";
  readonly code: string;
  readonly retryable: boolean;
  readonly details: ErrorDetails;

  constructor(code: string, message: string, options: { cause?: unknown; details?: ErrorDetails; retryable?: boolean } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? (ENGINE_CODES as Record<string, CodeEntry>)[code]?.retryable ?? false;
    this.details = options.details ?? {};
  }
}

/** Characters of a message that is kept, at most. */
const MESSAGE_LIMIT = 2000;

/**
 * What a thrown value says, as text that can be stored: well formed and bounded. Never throws: whoever runs somebody else's code must
 * be able to say that it failed, whatever that code threw.
 */
export function messageOf(thrown: unknown): string {
  try {
    // Not only errors have a message: the outcome of an effect that nobody takes is XState's error as it stands in its event.
    const { message } = Object(thrown) as { message?: unknown };
    const said: unknown = thrown instanceof Error || typeof message === "string" ? message : thrown;
    return String(said).slice(0, MESSAGE_LIMIT).toWellFormed();
  } catch {
    return "something that cannot be described was thrown";
  }
}

/** What counts as a code; see `codeOf`. */
const CODE = /^[a-z][a-z0-9_.-]{0,127}$/;

/** The code of a thrown value that has one of its own in a form that events can take, else `otherwise`. */
export function codeOf(thrown: unknown, otherwise: EngineCode | (string & {})): string {
  return thrown instanceof HoldfastError && CODE.test(thrown.code) ? thrown.code : otherwise;
}

/** An engine error; the compiler checks that the code is registered. */
export function engineError(code: EngineCode, message: string, options: { cause?: unknown; details?: ErrorDetails } = {}): HoldfastError {
  return new HoldfastError(code, message, options);
}
