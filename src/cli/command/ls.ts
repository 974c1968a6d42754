/** `holdfast ls`: pages of what a state root holds, in the order of creation, and why it is as it is. */

import { PARKED } from "../../actor/letter.ts";
import { PAGE, pages } from "../../actor/page.ts";
import type { ActorFilter, EffectRow, StoreReader } from "../../actor/store.ts";
import { agentError } from "../../agent/error.ts";
import { EXIT } from "../exit.ts";
import { oneLine, wrap } from "../format.ts";
import {
  ACTOR_TITLES,
  HANDOFF_TITLES,
  listAny,
  listOwn,
  listQuarantined,
  PLAN_TITLES,
  QUARANTINED_TITLES,
  RUN_TITLES,
  SESSION_TITLES,
} from "../list/actor.ts";
import { INTERACTION_TITLES, isOpen, listInteraction } from "../list/interaction.ts";
import { type Listed, listLines, type Naming, naming } from "../list/row.ts";
import { EFFECT_TITLES, LETTER_TITLES, listEffect, listLetter, listTimer, TIMER_TITLES } from "../list/waiting.ts";
import { unownedSinceMs, withReader } from "../reading.ts";
import type { List, PageOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";

export interface LsOptions extends PageOptions {
  readonly state?: string;
}

/** A row that fits, with its cursor; laid out only where it is shown. */
interface Placed {
  readonly cursor: number;
  readonly listed: () => Listed;
}

/** One kind of list. */
interface Kind {
  readonly titles: readonly string[];
  /** Said where there is nothing. */
  readonly none: string;
  /** States that `--state` may name; any where absent. */
  readonly states?: readonly string[];
  /** Said below the list, for people. */
  readonly hint?: string;
  /** Whether the hint is of use to a row; to any, where absent. */
  readonly hints?: (row: Listed) => boolean;
  rows(reader: StoreReader, asked: Asked): Iterable<Placed>;
}

interface Asked {
  readonly after: number;
  readonly state: string | undefined;
  readonly name: Naming;
  /** When the time of a root stopped that nobody owns; null where somebody does. */
  readonly stoppedMs: number | null;
}

const EFFECT_STATES: readonly EffectRow["state"][] = ["open", "started", "exhausted", "unknown"];

const KINDS: Record<List, Kind> = {
  sessions: { titles: SESSION_TITLES, none: "sessions", rows: own("session") },
  runs: { titles: RUN_TITLES, none: "runs", rows: own("run") },
  handoffs: { titles: HANDOFF_TITLES, none: "handoffs", rows: own("handoff") },
  plans: { titles: PLAN_TITLES, none: "work plans", rows: own("work-plan") },
  interactions: {
    titles: INTERACTION_TITLES,
    none: "interactions",
    hint: "`holdfast show INTERACTION` tells what is asked in full; `holdfast answer INTERACTION TEXT` answers a question, with `--allow` or `--deny` and `--hash` a permission. `--state open` lists what can be answered.",
    hints: ({ item }) => item.open === true,
    rows: actorRows({ machine: "interaction" }, listInteraction, (row) => (isOpen(row) ? "open" : row.state)),
  },
  actors: { titles: ACTOR_TITLES, none: "actors", rows: actorRows({}, listAny, (row) => row.state) },
  quarantined: {
    titles: QUARANTINED_TITLES,
    none: "actors are set aside",
    hint: "`holdfast show ACTOR` tells more; `holdfast release ACTOR` takes one back, after a check.",
    rows: actorRows({ quarantined: true }, listQuarantined, (row) => row.quarantine?.code ?? ""),
  },
  effects: {
    titles: EFFECT_TITLES,
    none: "effects are open",
    states: EFFECT_STATES,
    hint: "`holdfast retry EFFECT` runs it again; `holdfast resolve EFFECT --output JSON` (or `--error CODE`) settles it by hand.",
    hints: ({ item }) => (item.helps as readonly string[]).some((way) => !way.startsWith("holdfast release ")),
    *rows(reader, { after, state, name }) {
      const filter = state === undefined ? {} : { state: state as EffectRow["state"] };
      for (const row of pages(
        (cursor) => reader.effects(filter, { after: cursor, limit: PAGE }),
        (found) => found.ordinal,
        after,
      ))
        yield { cursor: row.ordinal, listed: () => listEffect(reader, row, name) };
    },
  },
  timers: {
    titles: TIMER_TITLES,
    none: "timers are set",
    states: ["armed", "parked"],
    *rows(reader, { after, state, name, stoppedMs }) {
      for (const row of pages(
        (cursor) => reader.timers({}, { after: cursor, limit: PAGE }),
        (found) => found.ordinal,
        after,
      ))
        if (state === undefined || row.state === state) yield { cursor: row.ordinal, listed: () => listTimer(row, name, stoppedMs) };
    },
  },
  "dead-letters": {
    titles: LETTER_TITLES,
    none: "dead letters",
    hint: `What has the reason actor_quarantined is delivered when its receiver is released: \`holdfast release TO\`. What has the reason ${PARKED.join(", ")}: when a program opens the root whose machine can take it.`,
    *rows(reader, { after, state, name }) {
      for (const row of pages(
        (cursor) => reader.deadLetters(state === undefined ? {} : { reason: state }, { after: cursor, limit: PAGE }),
        (found) => found.position,
        after,
      ))
        yield { cursor: row.position, listed: () => listLetter(row, name) };
    },
  },
};

/** Reads one page. */
export async function lsCommand(what: List, { root, limit, after, state }: LsOptions, screen: Screen): Promise<Result> {
  const kind = KINDS[what];
  if (state !== undefined && kind.states && !kind.states.includes(state))
    throw agentError("argument_invalid", `--state: ${what} are ${kind.states.join(", ")}`, { details: { path: "--state" } });
  return withReader(root, (reader) => {
    const found: Placed[] = [];
    let next: number | null = null;
    const stoppedMs = what === "timers" ? unownedSinceMs(root, reader) : null;
    for (const row of kind.rows(reader, { after, state, name: naming(screen), stoppedMs })) {
      // One more than is shown tells that there is another page.
      if (found.length === limit) {
        next = found.at(-1)?.cursor ?? null;
        break;
      }
      found.push(row);
    }
    const listed = found.map((row) => row.listed());
    return {
      exit: EXIT.done,
      document: { list: what, items: listed.map(({ item }) => item), next },
      lines: listed.length === 0 ? [noneText(what, after, state)] : linesOf(kind, listed, next, screen),
    };
  });
}

function noneText(what: List, after: number, state: string | undefined): string {
  const more = after > 0 ? "more " : "";
  return state === undefined ? `No ${more}${KINDS[what].none}.` : `No ${more}${what.replace("-", " ")}: ${oneLine(state, 80)}.`;
}

function linesOf(kind: Kind, listed: readonly Listed[], next: number | null, screen: Screen): string[] {
  const hint = listed.some((row) => kind.hints?.(row) ?? true) ? kind.hint : undefined;
  return [
    ...listLines(kind.titles, listed, screen),
    ...(next === null ? [] : [`More: --after ${next}`]),
    ...(hint === undefined ? [] : ["", ...wrap(hint, screen.proseColumns).map((line) => screen.style("dim", line))]),
  ];
}

function own(machine: "session" | "run" | "handoff" | "work-plan"): Kind["rows"] {
  return actorRows({ machine }, listOwn, (row) => row.state);
}

type Row = ReturnType<StoreReader["actors"]>[number];

/** Actors that fit; `--state` is held against what `stateOf` gives, or the states around it. */
function actorRows(
  filter: ActorFilter,
  list: (reader: StoreReader, row: Row, name: Naming) => Listed,
  stateOf: (row: Row) => string,
): Kind["rows"] {
  return function* rows(reader, { after, state, name }) {
    for (const row of pages(
      (cursor) => reader.actors(filter, { after: cursor, limit: PAGE }),
      (found) => found.ordinal,
      after,
    ))
      if (state === undefined || `${stateOf(row)}.`.startsWith(`${state}.`))
        yield { cursor: row.ordinal, listed: () => list(reader, row, name) };
  };
}
