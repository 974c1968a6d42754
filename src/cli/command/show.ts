/** `holdfast show ID`: what one actor is, why it is so, what waits for it or with it, and a page of its journal. */

import { machines as ours } from "../../../machines/index.ts";
import { type Entry, toEntry } from "../../actor/feed.ts";
import type { ActorRow, PlacedJournalRow, StoreReader } from "../../actor/store.ts";
import { aboutOf, type Fields, meaningOf } from "../about.ts";
import { fromNow } from "../duration.ts";
import { EXIT } from "../exit.ts";
import { countOf, isoOf, oneLine, plural, quoted, timeOf, wrap } from "../format.ts";
import { findActor } from "../id.ts";
import { type Listed, listLines, type Naming, naming } from "../list/row.ts";
import { EFFECT_TITLES, LETTER_TITLES, listEffect, listLetter, listTimer, TIMER_TITLES } from "../list/waiting.ts";
import { unownedSinceMs, withReader } from "../reading.ts";
import type { PageOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";
import { commandName } from "../self.ts";
import { fields, table } from "../table.ts";

/** Effects, timers and dead letters that are told with an actor; `ls` pages through all of them. */
const SHOWN = 100;

/** Reads one actor. Throws `actor_not_found`, `run_not_found`, `session_not_found`, `ambiguous`, `argument_invalid`. */
export async function showCommand(given: string, options: PageOptions, screen: Screen): Promise<Result> {
  return withReader(options.root, (reader) => {
    const row = findActor(reader, given);
    const read = reader.journal(row.address, { after: options.after, limit: options.limit + 1 });
    const entries = read.slice(0, options.limit).map((entry) => summary(reader, entry));
    const next = read.length > options.limit ? (entries.at(-1)?.seq ?? null) : null;
    const meaning = meaningOf(row);
    const about = aboutOf(reader, row, options.root);
    const waiting = waitingOf(reader, row, naming(screen), unownedSinceMs(options.root, reader));
    return {
      exit: EXIT.done,
      document: {
        address: row.address,
        version: row.version,
        state: row.state,
        final: row.status === "final",
        meaning,
        ...about.item,
        quarantine: quarantineOf(row),
        created: isoOf(row.createdMs),
        updated: isoOf(row.updatedMs),
        effects: waiting.effects.map(({ item }) => item),
        timers: waiting.timers.map(({ item }) => item),
        deadLetters: waiting.letters.map(({ item }) => item),
        entries: row.seq,
        journal: entries.map((entry) => ({ ...entry, at: isoOf(entry.at) })),
        next,
      },
      lines: [
        `${screen.style("bold", oneLine(row.address))}  ${screen.style("cyan", oneLine(row.state))}`,
        ...(meaning === null ? [] : wrap(meaning, screen.proseColumns - 2).map((line) => `  ${line}`)),
        "",
        ...setAside(row, waiting.letters.length, options.root, screen),
        ...fields([...about.fields.map(([name, value]) => [name, value && oneLine(value, 2000)] as const), ...timesOf(row)], "  "),
        ...section("Effects", EFFECT_TITLES, waiting.effects, screen),
        ...section("Timers", TIMER_TITLES, waiting.timers, screen),
        ...section("Dead letters to it", LETTER_TITLES, waiting.letters, screen),
        "",
        ...table(
          ["SEQ", "TIME", "EVENT", "FACTS"],
          entries.map((entry) => [String(entry.seq), timeOf(entry.at), entry.event, entry.facts.join(", ")]),
          screen.columns,
        ),
        ...(next === null ? [] : [`${countOf(row.seq - next)} more of ${plural(row.seq, "entry")}: --after ${next}`]),
      ],
    };
  });
}

function waitingOf(reader: StoreReader, { address }: ActorRow, name: Naming, stoppedMs: number | null) {
  const page = { limit: SHOWN };
  return {
    effects: reader.effects({ actor: address }, page).map((effect) => listEffect(reader, effect, name)),
    timers: reader.timers({ actor: address }, page).map((timer) => listTimer(timer, name, stoppedMs)),
    letters: reader.deadLetters({ receiver: address }, page).map((letter) => listLetter(letter, name)),
  };
}

function section(title: string, titles: readonly string[], rows: readonly Listed[], screen: Screen): string[] {
  if (rows.length === 0) return [];
  const more = rows.length === SHOWN ? [`  The first ${SHOWN}; \`holdfast ls\` pages through all.`] : [];
  return ["", screen.style("bold", title), ...listLines(titles, rows, screen, "  "), ...more];
}

function timesOf(row: ActorRow): Fields {
  const told = (atMs: number) => `${timeOf(atMs)} (${fromNow(atMs)})`;
  return [
    ["created", told(row.createdMs)],
    ["last entry", told(row.updatedMs)],
  ];
}

function quarantineOf({ address, quarantine }: ActorRow): object | null {
  if (!quarantine) return null;
  const { code, message, atMs, source } = quarantine;
  return { code, message, at: isoOf(atMs), source: source ?? null, helps: [`holdfast release ${quoted(address)}`] };
}

/** Why it was set aside, and the way out. */
function setAside({ address, machine, quarantine }: ActorRow, letters: number, root: string, screen: Screen): string[] {
  if (!quarantine) return [];
  const { code, message, atMs, source } = quarantine;
  const options = [
    ...(ours.some(({ id }) => id === machine) ? [] : ["--machines FILE"]),
    ...(root === ".holdfast" ? [] : [`--root ${quoted(root)}`]),
  ];
  const text = [
    oneLine(message),
    ...(source === undefined ? [] : [`It could not take what ${oneLine(source)} came to.`]),
    `Mend what this names, and take it back${letters > 0 ? ", which delivers the dead letters below" : ""}; with --discard, what it cannot take is left out and stays listed:`,
  ];
  return [
    `  ${screen.style("red", `Set aside ${fromNow(atMs)}: ${oneLine(code)}`)}`,
    ...text.flatMap((part) => wrap(part, screen.proseColumns - 4)).map((line) => `    ${line}`),
    `      ${[commandName(), "release", quoted(address), ...options].join(" ")}`,
    "",
  ];
}

/** An entry without its payload: payloads are shown nowhere unless asked for. */
function summary(reader: StoreReader, row: PlacedJournalRow): { seq: number; at: number; event: string; facts: string[] } {
  try {
    const { seq, at, event, facts }: Entry = toEntry(reader, row);
    return { seq, at, event: seq === 1 ? "created" : event.type, facts: facts.map(({ type }) => type) };
  } catch {
    return { seq: row.seq, at: row.atMs, event: "damaged: not JSON", facts: [] };
  }
}
