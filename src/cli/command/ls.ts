/** `holdfast ls`: pages of sessions, runs, handoffs and open effects, in the order of their creation. */

import type { ActorRow, EffectRow, StoreReader } from "../../actor/store.ts";
import { contextOf } from "../../agent/snapshot.ts";
import { coded, EXIT } from "../exit.ts";
import { isoOf, timeOf } from "../format.ts";
import { why } from "../outcome.ts";
import { withReader } from "../reading.ts";
import type { CommonOptions, LISTS, Result } from "../result.ts";
import type { Screen } from "../screen.ts";
import { table } from "../table.ts";

export interface LsOptions extends CommonOptions {
  readonly limit: number;
  readonly after: number;
}

type What = (typeof LISTS)[number];

/** One row of a list: its document and its cells. */
interface Listed {
  readonly item: Readonly<Record<string, unknown>>;
  readonly cells: readonly string[];
}

const TITLES: Record<What, readonly string[]> = {
  sessions: ["SESSION", "STATE", "TURNS", "CREATED", "FOLDER"],
  runs: ["RUN", "STATE", "STEPS", "CREATED", "WHY"],
  handoffs: ["HANDOFF", "STATE", "CREATED", "FROM RUN"],
  effects: ["EFFECT", "STATE", "OPENED", "ERROR"],
};

/** Reads one page. */
export async function lsCommand(what: What, { root, limit, after }: LsOptions, screen: Screen): Promise<Result> {
  return withReader(root, (reader) => {
    // One more than is shown tells whether there is another page.
    const page = { after, limit: limit + 1 };
    const rows = what === "effects" ? reader.effects({}, page) : reader.actors({ machine: what.slice(0, -1) }, page);
    const shown = rows.slice(0, limit);
    const listed = shown.map((row) => ("address" in row ? listActor(reader, row) : listEffect(row)));
    const next = rows.length > limit ? (shown.at(-1)?.ordinal ?? null) : null;
    const lines =
      listed.length > 0
        ? table(
            TITLES[what],
            listed.map(({ cells }) => cells),
            screen.columns,
          )
        : [after > 0 ? `No more ${what}.` : `No ${what}${what === "effects" ? " are open" : ""}.`];
    return {
      exit: EXIT.done,
      document: { list: what, items: listed.map(({ item }) => item), next },
      lines: next === null ? lines : [...lines, `More: --after ${next}`],
    };
  });
}

function listActor(reader: StoreReader, row: ActorRow): Listed {
  const base = {
    id: row.id,
    state: row.state,
    final: row.status === "final",
    quarantine: row.quarantine && { code: row.quarantine.code, message: row.quarantine.message },
    created: isoOf(row.createdMs),
    updated: isoOf(row.updatedMs),
  };
  const state = row.quarantine ? `${row.state} (set aside)` : row.state;
  try {
    const { item, cells } = detail(reader, row);
    const [first = [], rest = []] = cells;
    return { item: { ...base, ...item }, cells: [row.id, state, ...first, timeOf(row.createdMs), ...rest] };
  } catch (error) {
    // One damaged row must not hide the others.
    const { code, message } = coded(error);
    const blank = row.machine === "handoff" ? [] : [""];
    return { item: { ...base, damaged: { code, message } }, cells: [row.id, state, ...blank, timeOf(row.createdMs), code] };
  }
}

/** What the kind of actor adds: to its document, and to its cells before and after the time. */
function detail(reader: StoreReader, row: ActorRow): { item: Record<string, unknown>; cells: [string[], string[]] } {
  switch (row.machine) {
    case "run": {
      const context = contextOf(reader, "run", row.id)!;
      const { sessionId: session, turnId: turn, stepsTaken: steps, source, outcome } = context;
      const successor = row.status === "final" && !outcome ? (context.handoff?.successorRunId ?? null) : null;
      const item = { session, turn, steps, continues: source.kind === "fresh" ? null : source.runId, successor, outcome };
      return { item, cells: [[String(steps)], [row.quarantine?.code ?? why(context, row.status === "final")]] };
    }
    case "handoff": {
      const { sourceRunId: from, successorRunId: to, turnId: turn } = contextOf(reader, "handoff", row.id)!;
      return { item: { turn, from, to }, cells: [[], [from]] };
    }
    default: {
      const { name, configuration, turn, turns } = contextOf(reader, "session", row.id)!;
      const item = { name, backend: configuration.backend, folder: configuration.cwd, turns, run: turn?.runId ?? null };
      return { item, cells: [[String(turns)], [configuration.cwd]] };
    }
  }
}

function listEffect(row: EffectRow): Listed {
  const error = row.error === null ? null : (JSON.parse(row.error) as { code?: string; message?: string });
  return {
    item: { key: row.key, actor: row.actor, name: row.name, state: row.state, opened: isoOf(row.openedMs), error },
    cells: [`${row.name} of ${row.key}`, row.state, timeOf(row.openedMs), error ? `${error.code ?? ""} ${error.message ?? ""}`.trim() : ""],
  };
}
