/** About: what each kind of actor says of itself, for `show`: as a document, and as fields for people. */

import type { Outcome } from "../../machines/index.ts";
import { isStepSettled, machines } from "../../machines/index.ts";
import { entryAt } from "../actor/page.ts";
import type { ActorRow, StoreReader } from "../actor/store.ts";
import { factsOf } from "../agent/boundary.ts";
import { contextOf, sourceRunId } from "../agent/snapshot.ts";
import { coded } from "./exit.ts";
import { countOf, oneLine, quoted } from "./format.ts";
import { answerText, isOpen } from "./list/interaction.ts";
import { why } from "./outcome.ts";
import { continuedBy } from "./reading.ts";
import { commandName, rootOption } from "./self.ts";

/** Names and values, in the order in which they are told. */
export type Fields = readonly (readonly [name: string, value: string | null | undefined])[];

/** What the machine says is known in this state. */
export function meaningOf(row: ActorRow): string | null {
  const machine = machines.find(({ id }) => id === row.machine);
  if (!machine || machine.version !== row.version) return null;
  try {
    return machine.getStateNodeById(`${machine.id}.${row.state}`).description ?? null;
  } catch {
    return null;
  }
}

/** What one kind of actor adds to its row. */
export interface About {
  readonly item: Readonly<Record<string, unknown>>;
  readonly fields: Fields;
}

/** What is known of an actor besides its row. One that is damaged says so. */
export function aboutOf(reader: StoreReader, row: ActorRow, root: string): About {
  try {
    if (row.machine === "run") return aboutRun(reader, row);
    if (row.machine === "handoff") return aboutHandoff(reader, row);
    if (row.machine === "work-plan") return aboutPlan(reader, row);
    if (row.machine === "interaction") return aboutInteraction(reader, row, root);
    return row.machine === "session" ? aboutSession(reader, row) : aboutAny(row);
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
  const asked = run.interaction && reader.actor(`interaction/${run.interaction.id}`);
  const waitsFor = final && asked?.status === "final" ? null : run.interaction;
  const source = sourceRunId(run.source);
  const continues = source === null ? null : { run: source, purpose: run.source.kind };
  const copied = run.source.kind === "copy" ? { session: run.source.sessionId, turn: run.source.turnId, runs: run.source.runIds } : null;
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
      copiedFrom: copied,
      continuedBy: next,
      composition: run.composition,
      waitsFor,
      openCalls: run.openCalls,
    },
    fields: [
      ["why", why(run, final) || null],
      ...drift.map(({ field, source, own }) => ["drift", `${field}: was ${source}, is ${own}`] as const),
      ["continues", continues && `run/${continues.run} (${continues.purpose === "handoff" ? "under its seal" : "in a new turn"})`],
      ["copied from", copied && `turn ${copied.turn} of session/${copied.session}`],
      ["continued by", next === null ? (seal ? "nobody yet" : null) : `run/${next}`],
      ["handoff", run.handoff && `handoff/${run.handoff.handoffId}`],
      ["unknown calls", unknownCalls(reader, row)],
      ["waits for", waitsFor && oneLine(waitsFor.question)],
      ["asked in", waitsFor && `interaction/${waitsFor.id}`],
      ["session", `session/${run.sessionId}`],
      ["turn", run.turnId],
      ["steps", countOf(run.stepsTaken)],
      ["revision", run.composition && `${run.composition.composerId} ${run.composition.composerRevision}`],
    ],
  };
}

/** Calls of which nobody knows what came; they are stated with the run's end. */
function unknownCalls(reader: StoreReader, { address, seq, status }: ActorRow): string | null {
  const last = status === "final" ? entryAt(reader, address, seq) : undefined;
  const unknown = last ? factsOf(reader, last).filter(({ type }) => type === "tool.unknown") : [];
  return unknown.length === 0 ? null : unknown.map(({ callId, name }) => `${name} (${callId})`).join(", ");
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

function aboutInteraction(reader: StoreReader, row: ActorRow, root: string): About {
  const { kind, question, subject, hash, answer, runId, listener, sessionId, turnId } = contextOf(reader, "interaction", row.id)!;
  const open = isOpen(row);
  return {
    item: { open, kind, question, subject, hash, answer, run: runId, listener, session: sessionId, turn: turnId },
    fields: [
      ["asks", question],
      ["for leave to", subject === null ? null : JSON.stringify(subject)],
      ["hash", hash],
      ["answer", answer ? answerText(answer) : open ? "nobody has given one" : "nobody gave one"],
      ["answer it", open ? `${commandName()} answer ${quoted(row.id)} ${waysToAnswer(kind, hash)}${rootOption(root)}` : null],
      ["asked by", `run/${runId}`],
      ["awaited by", listener === null ? null : `run/${listener}`],
      ["session", `session/${sessionId}`],
    ],
  };
}

/** The arguments that answer something of this kind. */
function waysToAnswer(kind: "question" | "permission", hash: string): string {
  return kind === "question" ? "TEXT" : `--allow --hash ${hash}  (or --deny)`;
}

function aboutPlan(reader: StoreReader, row: ActorRow): About {
  const { sessionId, revision, pending, execution } = contextOf(reader, "work-plan", row.id)!;
  const { executionId = null, steps = [], interruption = null } = execution ?? {};
  return {
    item: { session: sessionId, revision, pending: pending?.revision ?? null, execution: executionId, steps, interruption },
    fields: [
      ["why", interruption && oneLine(interruption)],
      ["awaits approval", pending && `revision ${pending.revision}, entry ${pending.seq}`],
      ["approved", execution && `revision ${execution.revision}, entry ${execution.seq}`],
      ["steps", execution && `${countOf(steps.filter(isStepSettled).length)} of ${countOf(steps.length)} completed or skipped`],
      ["session", `session/${sessionId}`],
    ],
  };
}

function aboutSession(reader: StoreReader, row: ActorRow): About {
  const { name, configuration, turn, turns, lastRunId, copiedFrom = null } = contextOf(reader, "session", row.id)!;
  return {
    item: { name, configuration, turn, turns, lastRun: lastRunId, copiedFrom },
    fields: [
      ["name", name === null ? null : oneLine(name)],
      ["copied from", copiedFrom === null ? null : `session/${copiedFrom}`],
      ["folder", oneLine(configuration.cwd)],
      ["backend", configuration.backend],
      ["under way", turn && `run/${turn.runId}`],
      ["last run", lastRunId === null ? null : `run/${lastRunId}`],
      ["turns ended", countOf(turns)],
    ],
  };
}

/** Of a machine that this program does not know, the payloads are its own business. */
function aboutAny({ machine, version, status }: ActorRow): About {
  const ended = status === "final" ? "yes" : "no";
  return {
    item: { machine },
    fields: [
      ["machine", `${machine}, version ${version}`],
      ["ended", ended],
    ],
  };
}

function outcomeText(outcome: Outcome): string {
  return why({ outcome, handoff: null }, true);
}
