/**
 * Ids: as people write them. An actor's address is `<machine>/<id>`, an effect's key `<address>:<seq>:<index>`.
 *
 * Guarantees: what is printed short can be typed; the beginning or the end of an id stands for it where it is the only one; what may
 * mean several is refused, with what it may mean. A whole id is looked up; a short one costs a walk through the list.
 */

import { HoldfastError } from "../actor/error.ts";
import { PAGE, pages } from "../actor/page.ts";
import type { ActorRow, EffectRow, StoreReader } from "../actor/store.ts";
import { agentError } from "../agent/error.ts";
import { cliError } from "./error.ts";
import { oneLine, shortId } from "./format.ts";

/** Characters of an id that may stand for it, at least. */
const LEAST = 4;
/** Characters of what a person may give. */
const GIVEN_LIMIT = 1024;
/** What it may mean is named up to this number. */
const CANDIDATES = 10;

/** Machines of this program, by which ids without one are looked up first. */
const OURS = ["run", "session", "handoff", "work-plan", "interaction"] as const;

/** An address or a key in a few characters: the end of its id, for ids that were minted in one minute begin alike. */
export function shortName(name: string): string {
  const [, machine = "", id = "", place = ""] = /^([^/]*\/)?(.*?)((?::\d+:\d+)?)$/s.exec(name) ?? [];
  return `${machine}${shortId(id)}${place}`;
}

/** The actor that an address, an id, or the beginning or end of one stands for. Throws `actor_not_found` and the like, `ambiguous`. */
export function findActor(reader: StoreReader, given: string, field = "ID"): ActorRow {
  demand(given, field);
  const whole = given.includes("/") ? reader.actor(given) : undefined;
  if (whole) return whole;
  const kinds = new Set<string>([...OURS, ...reader.unfinishedMachines().map(({ machine }) => machine)]);
  const named = [...kinds].flatMap((machine) => reader.actor(`${machine}/${given}`) ?? []);
  if (named.length > 0) return only(named, given, field, ({ address }) => address);
  const machine = OURS.find((name) => given.startsWith(`${name}/`));
  const rows = pages(
    (after) => reader.actors(machine === undefined ? {} : { machine }, { after, limit: PAGE }),
    (row) => row.ordinal,
  );
  const found = fitting(rows, given, ({ address }) => address);
  // The id of what a run asks begins with the run's: of the two, the run is meant.
  const others = found.filter((row) => row.machine !== "interaction");
  if (found.length > 0) return only(others.length > 0 ? others : found, given, field, ({ address }) => address);
  const code = machine === "run" ? "run_not_found" : machine === "session" ? "session_not_found" : "actor_not_found";
  throw agentError(code, `there is no actor ${oneLine(given)}${tooShort(given)}`);
}

/** The id of the run that `run/ID`, `ID`, or the beginning or end of one stands for. Throws `run_not_found`, `ambiguous`, `argument_invalid`. */
export function findRunId(reader: StoreReader, given: string): string {
  try {
    return findActor(reader, given.startsWith("run/") ? given : `run/${given}`, "RUN").id;
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "run_not_found") throw error;
    throw agentError("run_not_found", `there is no run ${oneLine(given.replace(/^run\//, ""))}${tooShort(given)}`);
  }
}

/** The id of the session that `session/ID`, `ID`, or the beginning or end of one stands for. Throws `session_not_found`, `ambiguous`, `argument_invalid`. */
export function findSessionId(reader: StoreReader, given: string): string {
  demand(given, "SESSION");
  return findActor(reader, given.startsWith("session/") ? given : `session/${given}`, "SESSION").id;
}

/** As `findRunId`, of an interaction. Throws `interaction_not_found`, `ambiguous`, `argument_invalid`. */
export function findInteractionId(reader: StoreReader, given: string): string {
  try {
    return findActor(reader, given.startsWith("interaction/") ? given : `interaction/${given}`, "INTERACTION").id;
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "actor_not_found") throw error;
    const name = given.replace(/^interaction\//, "");
    throw agentError("interaction_not_found", `there is no interaction ${oneLine(name)}${tooShort(given)}`);
  }
}

/** The effect that a key, or the beginning or end of one, stands for. Throws `effect_gone`, `ambiguous`. */
export function findEffect(reader: StoreReader, given: string): EffectRow {
  demand(given, "KEY");
  const whole = reader.effect(given);
  if (whole) return whole;
  const rows = pages(
    (after) => reader.effects({}, { after, limit: PAGE }),
    (row) => row.ordinal,
  );
  const found = fitting(rows, given, ({ key }) => key);
  if (found.length === 0)
    throw agentError("effect_gone", `there is no effect ${oneLine(given)}${tooShort(given) || ": it has ended, or never was"}`);
  return only(found, given, "KEY", ({ key }) => key);
}

function demand(given: string, field: string): void {
  if (given === "" || given.length > GIVEN_LIMIT)
    throw agentError("argument_invalid", `${field}: expected an id, of at most ${GIVEN_LIMIT} characters`, { details: { path: field } });
}

/** Said of what could not stand for an id, were there one that begins or ends with it. */
function tooShort(given: string): string {
  const text = given.slice(given.indexOf("/") + 1).replace(/^…/, "");
  return text.length < LEAST ? `; as the beginning or the end of one it is too short: give at least ${LEAST} characters` : "";
}

/** Rows whose names this may stand for, one more than are named; those whose id it is, whole, alone where there are any. */
function fitting<Row>(rows: Iterable<Row>, given: string, nameOf: (row: Row) => string): Row[] {
  const whole: Row[] = [];
  const part: Row[] = [];
  for (const row of rows) {
    const name = nameOf(row);
    const cut = name.indexOf("/") + 1;
    const id = name.slice(cut);
    const text = given.startsWith(name.slice(0, cut)) ? given.slice(cut) : given;
    if (id === text) whole.push(row);
    else if (part.length <= CANDIDATES && standsFor(text, id)) part.push(row);
  }
  return whole.length > 0 ? whole : part;
}

function standsFor(text: string, id: string): boolean {
  const end = text.startsWith("…") ? text.slice(1) : text;
  return end.length >= LEAST && (id.endsWith(end) || (end === text && id.startsWith(text)));
}

function only<Row>(found: readonly Row[], given: string, field: string, nameOf: (row: Row) => string): Row {
  const [first, ...others] = found;
  if (first !== undefined && others.length === 0) return first;
  const candidates = found.slice(0, CANDIDATES).map(nameOf);
  const more = found.length > CANDIDATES ? " and others" : "";
  throw cliError("ambiguous", `${field}: ${oneLine(given)} may mean ${candidates.map((name) => oneLine(name)).join(", ")}${more}`, {
    details: { path: field, candidates },
  });
}
