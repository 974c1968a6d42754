/** Waiting: effects, timers and dead letters as rows of a list: what is there, why, and which command helps. */

import type { EffectRow, PlacedDeadLetterRow, StoreReader, TimerRow } from "../../actor/store.ts";
import { durationOf, fromNow } from "../duration.ts";
import { isoOf, oneLine, quoted } from "../format.ts";
import type { Listed, Naming } from "./row.ts";

export const EFFECT_TITLES = ["EFFECT", "STATE", "SINCE", "NAME", "HELPS"];
export const TIMER_TITLES = ["ACTOR", "DUE", "AT", "STATE", "EVENT"];
export const LETTER_TITLES = ["TO", "REASON", "SINCE", "EVENT", "FROM"];

/** An open effect. Its handler's tries are not recorded, so nothing is said of them. */
export function listEffect(reader: StoreReader, row: EffectRow, name: Naming): Listed {
  const error = errorOf(row);
  const helps = waysOut(reader, row);
  return {
    item: {
      key: row.key,
      actor: row.actor,
      name: row.name,
      state: row.state,
      opened: isoOf(row.openedMs),
      error,
      helps: helps.map((way) => `holdfast ${way} ${quoted(way === "release" ? row.actor : row.key)}`),
    },
    cells: [name(row.key), row.state, fromNow(row.openedMs), row.name, helps.join(", ")],
    notes: error ? [`${oneLine(error.code)}: ${oneLine(error.message)}`] : [],
  };
}

function errorOf(row: EffectRow): { readonly code: string; readonly message: string } | null {
  if (row.error === null) return null;
  try {
    const { code, message } = JSON.parse(row.error) as { code?: unknown; message?: unknown };
    return { code: String(code ?? "unknown"), message: String(message ?? "") };
  } catch {
    return { code: "row_unexpected", message: "its last error cannot be read" };
  }
}

/** Commands that take it further; none while a handler is, or will be, at work. */
function waysOut(reader: StoreReader, row: EffectRow): readonly ("retry" | "resolve" | "release")[] {
  if (reader.actor(row.actor)?.quarantine) return ["release"];
  return row.state === "exhausted" || row.state === "unknown" ? ["retry", "resolve"] : [];
}

/** A timer that is set. `stoppedMs` is when the time of a root stopped that nobody owns; null where somebody does. */
export function listTimer(row: TimerRow, name: Naming, stoppedMs: number | null): Listed {
  const type = typeOf(row.event);
  // The timer of an `after` has the name of its event, which says no more than its delay.
  const event = row.delay !== "" && row.id === type ? `after ${row.delay}` : type;
  const { key, actor, delay, policy, delayMs, dueMs, state } = row;
  // Without an owner its time stands still: no date that could be given would hold.
  const leftMs = policy === "absolute" || stoppedMs === null ? null : policy === "restart" ? delayMs : Math.max(0, dueMs - stoppedMs);
  return {
    item: { key, actor, event: type, delay, policy, delayMs, due: leftMs === null ? isoOf(dueMs) : null, leftMs, state },
    cells: [
      name(actor),
      leftMs === null ? fromNow(dueMs) : `in ${durationOf(leftMs)} of owned time`,
      leftMs === null ? isoOf(dueMs).replace(/\.\d+Z$/, "Z") : "",
      state,
      policy === "absolute" ? event : `${event} (${policy})`,
    ],
    notes: [],
  };
}

/** An event that reached nobody. */
export function listLetter({ position, receiver, sender, seq, event, reason, atMs }: PlacedDeadLetterRow, name: Naming): Listed {
  const type = typeOf(event);
  return {
    item: { position, receiver, sender, entry: seq, event: type, reason, at: isoOf(atMs) },
    cells: [name(receiver), reason, fromNow(atMs), type, `${name(sender)}, entry ${seq}`],
    notes: [],
  };
}

/** The type of a stored event; its payload is shown nowhere unless asked for. */
function typeOf(event: string): string {
  try {
    return String((JSON.parse(event) as { type?: unknown }).type);
  } catch {
    return "damaged: not JSON";
  }
}
