/** What comes into the engine: addresses, inputs, keys, pages and events, checked before any machine or store sees them. */

import { type EngineCode, engineError } from "./error.ts";
import { PAYLOAD_LIMIT } from "./journal.ts";
import { copyOf, type Json, notJson } from "./json.ts";
import { PAGE_LIMIT } from "./page.ts";
import type { Registration } from "./registration.ts";
import { checkAgainst } from "./schema.ts";
import type { Page } from "./store.ts";
import type { EngineEvent } from "./transition.ts";

export { firstIssue } from "./schema.ts";

/** Length of an actor's id and of the key of an event, in characters. */
export const ID_LIMIT = 256;

/** Length of an identity that an actor owns besides its address, in characters. */
const IDENTITY_LIMIT = 2 * ID_LIMIT;

/** `<machine>/<id>`. Throws `input_invalid` for an id that is empty, too long, or has control characters or outer blanks. */
export function actorAddress(machine: string, id: string): string {
  if (typeof id !== "string" || id.length === 0 || id.length > ID_LIMIT || /[\p{Cc}]/u.test(id) || id !== id.trim() || !id.isWellFormed())
    throw engineError("input_invalid", `an id has 1 to ${ID_LIMIT} characters, no control characters and no outer blanks`, {
      details: { path: "id" },
    });
  return `${machine}/${id}`;
}

/** The machine's id in an address. */
export function machineOf(address: string): string {
  return address.slice(0, address.indexOf("/"));
}

/** The actor's own id in an address. */
export function idOf(address: string): string {
  return address.slice(address.indexOf("/") + 1);
}

/** The identities that a new actor shall own besides its address. Throws `input_invalid`. */
export function checkKeys(keys: readonly string[]): readonly string[] {
  if (!Array.isArray(keys)) throw engineError("input_invalid", "keys are a list", { details: { path: "keys" } });
  for (const [index, key] of keys.entries())
    if (typeof key !== "string" || key.length === 0 || key.length > IDENTITY_LIMIT || !key.isWellFormed())
      throw engineError("input_invalid", `keys have 1 to ${IDENTITY_LIMIT} characters, all well formed`, {
        details: { path: `keys.${index}` },
      });
  if (new Set(keys).size !== keys.length) throw engineError("input_invalid", "keys are named once each", { details: { path: "keys" } });
  return [...keys];
}

/** The page that is asked for; 100 rows where no limit is given. Throws `input_invalid`. */
export function checkPage(page: Partial<Page>): Page {
  if (typeof page !== "object" || page === null) throw engineError("input_invalid", "a page is an object", { details: { path: "page" } });
  const { after = 0, limit = 100 } = page;
  const bad = (path: string, problem: string) => engineError("input_invalid", `${path} is ${problem}`, { details: { path } });
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > PAGE_LIMIT) throw bad("page.limit", `a whole number from 1 to ${PAGE_LIMIT}`);
  if (!Number.isSafeInteger(after) || after < 0) throw bad("page.after", "a whole number, 0 or more");
  return { after, limit };
}

/** The input by the machine's schema, as a copy. Throws `input_invalid` with the path. */
export function parseInput(registration: Registration, input: unknown): { readonly [key: string]: Json } {
  const bad = (path: string, problem: string) =>
    engineError("input_invalid", `the input of ${registration.id} ${problem}`, { details: { machine: registration.id, path } });
  const found = notJson(input);
  if (found) throw bad(found, `is not plain JSON at ${found}`);
  if (isStamped(input)) throw bad("stamp", STAMPED);
  const checked = checkAgainst(registration.schemas.input, input);
  if (!checked.ok) throw bad(checked.path, `does not fit its schema: ${checked.path} ${checked.message}`);
  const parsed = notJson(checked.data);
  if (parsed) throw bad(parsed, `is not plain JSON at ${parsed} after its schema`);
  // The engine adds its stamp to it.
  if (typeof checked.data !== "object" || checked.data === null || Array.isArray(checked.data)) throw bad("$", "is not an object");
  if (isStamped(checked.data)) throw bad("stamp", `${STAMPED}, after its schema`);
  return copyOf(checked.data as Record<string, Json>);
}

const STAMPED = "has a field `stamp`, which the engine adds itself";

function isStamped(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "stamp");
}

/** An event held against its machine's schema. */
export type Checked =
  /** `text` is the event's JSON. */
  | { readonly ok: true; readonly event: EngineEvent; readonly text: string }
  | { readonly ok: false; readonly code: EngineCode; readonly message: string; readonly path?: string };

/** An event by the machine's schema, as a copy. `from` decides which types are reserved (ACT-9). */
export function checkEvent(registration: Registration, event: { readonly type: string }, from: "outside" | "delivery" | "engine"): Checked {
  const { type, ...payload } = (typeof event === "object" && event !== null ? event : {}) as EngineEvent;
  if (typeof type !== "string") return { ok: false, code: "event_invalid", message: "an event has a type" };
  if (from !== "engine" && (/^(xstate|engine|effect)\./.test(type) || registration.reserved.has(type)))
    return { ok: false, code: "event_reserved", message: `only the engine makes ${type}` };
  const bad = (path: string, problem: string): Checked => ({ ok: false, code: "event_invalid", message: `${type} ${problem}`, path });
  const given = notJson(payload);
  if (given) return bad(given, `is not plain JSON at ${given}`);
  if (from !== "engine" && isStamped(payload)) return bad("stamp", STAMPED);
  const schema = Object.hasOwn(registration.schemas.events, type) ? registration.schemas.events[type] : undefined;
  if (!schema) return { ok: false, code: "event_unknown", message: `${registration.id} has no event ${type}` };
  const checked = checkAgainst(schema, payload);
  if (!checked.ok) return bad(checked.path, `does not fit its schema: ${checked.path} ${checked.message}`);
  const found = notJson(checked.data);
  if (found) return bad(found, `is not plain JSON at ${found} after its schema`);
  if (from !== "engine" && isStamped(checked.data)) return bad("stamp", `${STAMPED}, after its schema`);
  // The copy shares nothing with what was given, so that nobody can change what is stored.
  const text = JSON.stringify({ ...(checked.data as Record<string, Json>), type });
  if (text.length > PAYLOAD_LIMIT) return bad("$", `is larger than ${PAYLOAD_LIMIT} characters`);
  return { ok: true, event: JSON.parse(text), text };
}
