/** Actor: sessions, runs, handoffs, work plans and actors of any machine as rows of a list. */

import { isStepSettled } from "../../../machines/index.ts";
import { WAITING } from "../../actor/letter.ts";
import type { ActorRow, StoreReader } from "../../actor/store.ts";
import { contextOf, sourceRunId } from "../../agent/snapshot.ts";
import { fromNow } from "../duration.ts";
import { coded } from "../exit.ts";
import { isoOf, oneLine, plural, quoted } from "../format.ts";
import { why } from "../outcome.ts";
import type { Listed, Naming } from "./row.ts";

export const SESSION_TITLES = ["SESSION", "STATE", "TURNS", "CREATED", "FOLDER"];
export const RUN_TITLES = ["RUN", "STATE", "STEPS", "CREATED", "WHY"];
export const HANDOFF_TITLES = ["HANDOFF", "STATE", "CREATED", "FROM RUN"];
export const PLAN_TITLES = ["PLAN", "STATE", "STEPS", "CREATED", "SESSION"];
export const ACTOR_TITLES = ["ACTOR", "STATE", "ENTRIES", "LAST ENTRY", "WHY"];
export const QUARANTINED_TITLES = ["ACTOR", "STATE", "SET ASIDE", "REASON"];

/** A session, run, handoff or work plan, among its like. */
export function listOwn(reader: StoreReader, row: ActorRow, name: Naming): Listed {
  const base = baseOf(row);
  const created = fromNow(row.createdMs);
  try {
    const { item, cells } = detailOf(reader, row, name);
    const [first = [], rest = []] = cells;
    return { item: { ...base, ...item }, cells: [name(row.id), stateText(row), ...first, created, ...rest], notes: [] };
  } catch (error) {
    // One damaged row must not hide the others.
    const { code, message } = coded(error);
    const blank = row.machine === "handoff" ? [] : [""];
    return { item: { ...base, damaged: { code, message } }, cells: [name(row.id), stateText(row), ...blank, created, code], notes: [] };
  }
}

/** An actor of any machine. */
export function listAny(reader: StoreReader, row: ActorRow, name: Naming): Listed {
  return {
    item: { address: row.address, machine: row.machine, version: row.version, ...baseOf(row), entries: row.seq },
    cells: [name(row.address), stateText(row), String(row.seq), fromNow(row.updatedMs), reasonOf(reader, row)],
    notes: [],
  };
}

/** An actor that was set aside, with the whole reason. */
export function listQuarantined(reader: StoreReader, row: ActorRow, name: Naming): Listed {
  const { code, message, atMs } = row.quarantine ?? { code: "", message: "", atMs: row.updatedMs };
  const letters = lettersTo(reader, row.address);
  return {
    item: {
      address: row.address,
      machine: row.machine,
      ...baseOf(row),
      at: isoOf(atMs),
      waiting: letters,
      helps: [`holdfast release ${quoted(row.address)}`],
    },
    cells: [name(row.address), row.state, fromNow(atMs), code],
    notes: [oneLine(message), ...(letters > 0 ? [lettersText(letters)] : [])],
  };
}

/** How many are counted of what waits for an actor. */
const LETTERS_COUNTED = 1000;

function lettersText(count: number): string {
  if (count === LETTERS_COUNTED) return "1,000 or more dead letters wait for it";
  return `${plural(count, "dead letter")} ${count === 1 ? "waits" : "wait"} for it`;
}

function lettersTo(reader: StoreReader, receiver: string): number {
  const found = WAITING.map((reason) => reader.deadLetters({ receiver, reason }, { limit: LETTERS_COUNTED }).length);
  return Math.min(
    LETTERS_COUNTED,
    found.reduce((sum, count) => sum + count, 0),
  );
}

function baseOf(row: ActorRow) {
  return {
    id: row.id,
    state: row.state,
    final: row.status === "final",
    quarantine: row.quarantine && { code: row.quarantine.code, message: row.quarantine.message },
    created: isoOf(row.createdMs),
    updated: isoOf(row.updatedMs),
  };
}

function stateText(row: ActorRow): string {
  return row.quarantine ? `${row.state} (set aside)` : row.state;
}

/** Why an actor is as it is, where that can be known in a few words. */
function reasonOf(reader: StoreReader, row: ActorRow): string {
  if (row.quarantine) return row.quarantine.code;
  try {
    const context = row.machine === "run" ? contextOf(reader, "run", row.id) : undefined;
    return context ? why(context, row.status === "final") : "";
  } catch (error) {
    return coded(error).code;
  }
}

/** What the kind of actor adds: to its document, and to its cells before and after the time. */
function detailOf(reader: StoreReader, row: ActorRow, name: Naming): { item: Record<string, unknown>; cells: [string[], string[]] } {
  switch (row.machine) {
    case "run": {
      const context = contextOf(reader, "run", row.id)!;
      const { sessionId: session, turnId: turn, stepsTaken: steps, source, outcome } = context;
      const successor = row.status === "final" && !outcome ? (context.handoff?.successorRunId ?? null) : null;
      const item = { session, turn, steps, continues: sourceRunId(source), successor, outcome };
      return { item, cells: [[String(steps)], [row.quarantine?.code ?? why(context, row.status === "final")]] };
    }
    case "handoff": {
      const { sourceRunId: from, successorRunId: to, turnId: turn } = contextOf(reader, "handoff", row.id)!;
      return { item: { turn, from, to }, cells: [[], [name(from)]] };
    }
    case "work-plan": {
      const { sessionId: session, revision, pending, execution } = contextOf(reader, "work-plan", row.id)!;
      const item = { session, revision, pending: pending?.revision ?? null, execution: execution?.executionId ?? null };
      const settled = execution?.steps.filter(isStepSettled).length ?? null;
      const of = (execution?.steps ?? pending?.stepIds ?? []).length;
      return { item: { ...item, settled, steps: of }, cells: [[settled === null ? String(of) : `${settled}/${of}`], [name(session)]] };
    }
    default: {
      const { name: title, configuration, turn, turns } = contextOf(reader, "session", row.id)!;
      const item = { name: title, backend: configuration.backend, folder: configuration.cwd, turns, run: turn?.runId ?? null };
      return { item, cells: [[String(turns)], [configuration.cwd]] };
    }
  }
}
