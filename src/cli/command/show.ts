/** `holdfast show ID`: what one actor is, why it is so, and a page of its journal. */

import type { Outcome } from "../../../machines/index.ts";
import { machines } from "../../../machines/index.ts";
import { type Entry, toEntry } from "../../actor/feed.ts";
import type { ActorRow, StoreReader } from "../../actor/store.ts";
import { agentError } from "../../agent/error.ts";
import { contextOf } from "../../agent/snapshot.ts";
import { coded, EXIT } from "../exit.ts";
import { countOf, isoOf, oneLine, timeOf, wrap } from "../format.ts";
import { why } from "../outcome.ts";
import { continuedBy, withReader } from "../reading.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";
import { fields, table } from "../table.ts";

export interface ShowOptions extends CommonOptions {
  readonly limit: number;
  readonly after: number;
}

const KINDS = ["run", "session", "handoff"] as const;
type Fields = readonly (readonly [name: string, value: string | null | undefined])[];

/** Reads one actor. Throws `run_not_found`, `session_not_found`, `actor_not_found`, `argument_invalid`. */
export async function showCommand(given: string, options: ShowOptions, screen: Screen): Promise<Result> {
  return withReader(options.root, (reader) => {
    const row = find(reader, given);
    const read = reader.journal(row.address, { after: options.after, limit: options.limit + 1 });
    const entries = read.slice(0, options.limit).map(summary);
    const next = read.length > options.limit ? (entries.at(-1)?.seq ?? null) : null;
    const meaning = meaningOf(row);
    const about = aboutOf(reader, row);
    const effects = reader.effects({ actor: row.address }, { limit: 100 }).map(({ key, name, state }) => ({ key, name, state }));
    return {
      exit: EXIT.done,
      document: {
        address: row.address,
        version: row.version,
        state: row.state,
        final: row.status === "final",
        meaning,
        ...about.item,
        quarantine: row.quarantine && { code: row.quarantine.code, message: row.quarantine.message, at: isoOf(row.quarantine.atMs) },
        created: isoOf(row.createdMs),
        updated: isoOf(row.updatedMs),
        effects,
        entries: row.seq,
        journal: entries.map((entry) => ({ ...entry, at: isoOf(entry.at) })),
        next,
      },
      lines: [
        `${screen.style("bold", row.address)}  ${screen.style("cyan", row.state)}`,
        ...(meaning === null ? [] : wrap(meaning, screen.proseColumns - 2).map((line) => `  ${line}`)),
        "",
        ...fields(
          [
            ...about.fields,
            ["set aside", row.quarantine && `${row.quarantine.code}: ${oneLine(row.quarantine.message)}`],
            ["open effects", effects.length > 0 ? effects.map(({ name, state }) => `${name} (${state})`).join(", ") : null],
            ["created", timeOf(row.createdMs)],
            ["last entry", timeOf(row.updatedMs)],
          ],
          "  ",
        ),
        "",
        ...table(
          ["SEQ", "TIME", "EVENT", "FACTS"],
          entries.map((entry) => [String(entry.seq), timeOf(entry.at), entry.event, entry.facts.join(", ")]),
          screen.columns,
        ),
        ...(next === null ? [] : [`${countOf(row.seq - next)} more of ${countOf(row.seq)} entries: --after ${next}`]),
      ],
    };
  });
}

function find(reader: StoreReader, given: string): ActorRow {
  const kind = KINDS.find((name) => given.startsWith(`${name}/`));
  if (kind) {
    const row = reader.actor(given);
    if (row) return row;
    const code = kind === "run" ? "run_not_found" : kind === "session" ? "session_not_found" : "actor_not_found";
    throw agentError(code, `there is no ${kind} ${oneLine(given.slice(kind.length + 1))}`);
  }
  const found = KINDS.flatMap((name) => reader.actor(`${name}/${given}`) ?? []);
  if (found.length > 1)
    throw agentError("argument_invalid", `ID: several actors have this id: ${found.map(({ address }) => address).join(", ")}`, {
      details: { path: "ID" },
    });
  if (!found[0]) throw agentError("actor_not_found", `there is no run, session or handoff ${oneLine(given)}`);
  return found[0];
}

/** What the machine says is known in this state. */
function meaningOf(row: ActorRow): string | null {
  const machine = machines.find(({ id }) => id === row.machine);
  if (!machine || machine.version !== row.version) return null;
  try {
    return machine.getStateNodeById(`${machine.id}.${row.state}`).description ?? null;
  } catch {
    return null;
  }
}

/** An entry without its payload: payloads are shown nowhere unless asked for. */
function summary(row: Parameters<typeof toEntry>[0]): { seq: number; at: number; event: string; facts: string[] } {
  try {
    const { seq, at, event, facts }: Entry = toEntry(row);
    return { seq, at, event: seq === 1 ? "created" : event.type, facts: facts.map(({ type }) => type) };
  } catch {
    return { seq: row.seq, at: row.atMs, event: "damaged: not JSON", facts: [] };
  }
}

interface About {
  readonly item: Readonly<Record<string, unknown>>;
  readonly fields: Fields;
}

function aboutOf(reader: StoreReader, row: ActorRow): About {
  try {
    if (row.machine === "run") return aboutRun(reader, row);
    return row.machine === "handoff" ? aboutHandoff(reader, row) : aboutSession(reader, row);
  } catch (error) {
    const { code, message } = coded(error);
    return { item: { damaged: { code, message } }, fields: [["damaged", `${code}: ${oneLine(message)}`]] };
  }
}

function aboutRun(reader: StoreReader, row: ActorRow): About {
  const run = contextOf(reader, "run", row.id)!;
  const final = row.status === "final";
  const seal = final && !run.outcome ? run.preview : null;
  const next = continuedBy(reader, row.id);
  const continues = run.source.kind === "fresh" ? null : { run: run.source.runId, purpose: run.source.kind };
  const drift = run.outcome?.kind === "failed" ? run.outcome.drift : [];
  return {
    item: {
      session: run.sessionId,
      turn: run.turnId,
      steps: run.stepsTaken,
      outcome: run.outcome,
      seal,
      handoff: run.handoff?.handoffId ?? null,
      continues,
      continuedBy: next,
      composition: run.composition,
      waitsFor: run.interaction,
      openCalls: run.openCalls,
    },
    fields: [
      ["why", why(run, final) || null],
      ...drift.map(({ field, source, own }) => ["drift", `${field}: was ${source}, is ${own}`] as const),
      ["continues", continues && `run/${continues.run} (${continues.purpose === "handoff" ? "under its seal" : "in a new turn"})`],
      ["continued by", next === null ? (seal ? "nobody yet" : null) : `run/${next}`],
      ["handoff", run.handoff && `handoff/${run.handoff.handoffId}`],
      ["waits for", run.interaction && oneLine(run.interaction.question)],
      ["session", `session/${run.sessionId}`],
      ["turn", run.turnId],
      ["steps", countOf(run.stepsTaken)],
      ["revision", run.composition && `${run.composition.composerId} ${run.composition.composerRevision}`],
    ],
  };
}

function aboutHandoff(reader: StoreReader, row: ActorRow): About {
  const handoff = contextOf(reader, "handoff", row.id)!;
  return {
    item: {
      session: handoff.sessionId,
      turn: handoff.turnId,
      from: handoff.sourceRunId,
      to: handoff.successorRunId,
      claim: handoff.claimId,
      seal: handoff.seal,
      sealSeq: handoff.sealSeq,
      outcome: handoff.outcome,
    },
    fields: [
      ["why", handoff.outcome && outcomeText(handoff.outcome)],
      ["from", `run/${handoff.sourceRunId}`],
      ["to", `run/${handoff.successorRunId}${reader.actor(`run/${handoff.successorRunId}`) ? "" : " (not begun)"}`],
      ["seal", handoff.sealSeq === null ? "not written" : `entry ${handoff.sealSeq} of run/${handoff.sourceRunId}`],
      ["session", `session/${handoff.sessionId}`],
    ],
  };
}

function aboutSession(reader: StoreReader, row: ActorRow): About {
  const { name, configuration, turn, turns, lastRunId } = contextOf(reader, "session", row.id)!;
  return {
    item: { name, configuration, turn, turns, lastRun: lastRunId },
    fields: [
      ["name", name === null ? null : oneLine(name)],
      ["folder", oneLine(configuration.cwd)],
      ["backend", configuration.backend],
      ["under way", turn && `run/${turn.runId}`],
      ["last run", lastRunId === null ? null : `run/${lastRunId}`],
      ["turns ended", countOf(turns)],
    ],
  };
}

function outcomeText(outcome: Outcome): string {
  return why({ outcome, handoff: null }, true);
}
