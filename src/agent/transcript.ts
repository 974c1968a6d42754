/** Transcript: the facts of a conversation over all runs that lead to one, oldest first, read from the journal page by page. */

import type { CopiedFact } from "../../machines/run-schema.ts";
import type { Entry } from "../actor/feed.ts";
import { toEntry } from "../actor/feed.ts";
import { inflated } from "../actor/journal.ts";
import { entriesOf } from "../actor/page.ts";
import type { StoreReader } from "../actor/store.ts";
import type { TranscriptEntry, TranscriptFact } from "./backend.ts";
import { agentError } from "./error.ts";
import type { ContextOf } from "./snapshot.ts";
import { contextOf } from "./snapshot.ts";

/**
 * The runs of a conversation, from this one back to its first. Throws `run_not_found` where one of them is gone, for nobody goes on without
 * its history, and `lineage_cycle`.
 */
function* conversationBackFrom(reader: StoreReader, runId: string): Generator<ContextOf<"run">> {
  const seen = new Set<string>();
  let last: string | undefined;
  for (let id: string | null = runId; id !== null; ) {
    if (seen.has(id)) throw agentError("lineage_cycle", `the run ${id} would go on from itself`, { details: { run: id } });
    seen.add(id);
    const context: ContextOf<"run"> | undefined = contextOf(reader, "run", id);
    if (!context)
      throw agentError("run_not_found", last === undefined ? `there is no run ${id}` : `there is no run ${id}, from which ${last} goes on`);
    yield context;
    last = id;
    id = context.previousRunId;
  }
}

/** Throws as `transcript` does, where a run of the conversation is missing. */
export function demandConversation(reader: StoreReader, runId: string): void {
  for (const _ of conversationBackFrom(reader, runId));
}

/** Every message and tool fact of the runs that lead to `runId`, and its own. Throws `run_not_found`, `lineage_cycle`. */
export function* transcript(reader: StoreReader, runId: string): Generator<TranscriptEntry> {
  const members = [...conversationBackFrom(reader, runId)].map(({ runId: member, turnId }) => ({ runId: member, turnId })).reverse();
  for (const member of members) yield* runTranscript(reader, member);
}

/** Every message and tool fact of one run. */
export function* runTranscript(reader: StoreReader, { runId, turnId }: { readonly runId: string; readonly turnId: string }) {
  for (const row of entriesOf(reader, `run/${runId}`)) {
    // Most entries of a long run are tool facts; parse a row only where it has any fact.
    if (row.facts === "[]") continue;
    const entry = toEntry(reader, row);
    for (const fact of statedFacts(entry)) yield { runId, turnId, seq: entry.seq, fact: withoutBlobs(fact) } satisfies TranscriptEntry;
  }
}

/** The user's text that a run goes on answering: the nearest run before it that recorded one. */
export function headAnchor(reader: StoreReader, runId: string): { runId: string; turnId: string; text: string } | null {
  for (const { runId: member, turnId } of conversationBackFrom(reader, runId)) {
    const opening = reader.journal(`run/${member}`, { limit: 1 })[0];
    const input = opening && JSON.parse(inflated(reader, opening).event).input;
    if (typeof input?.text === "string") return { runId: member, turnId, text: input.text };
  }
  return null;
}

/** What blobs a tool stored is nothing that a model is told. */
function withoutBlobs(fact: CopiedFact): TranscriptFact {
  if (fact.type !== "tool.settled") return fact;
  const { blobs: _, ...told } = fact;
  return told;
}

/** What an entry's facts say in full: a fact that restates its event refers to it, so the two are joined here. */
export function* statedFacts(entry: Entry): Generator<CopiedFact> {
  let reconciled = 0;
  for (const fact of entry.facts) {
    const event = entry.event as Record<string, any>;
    switch (fact.type) {
      case "turn.copied":
        yield* event.input.copied.facts as CopiedFact[];
        break;
      case "tool.reconciled": {
        const { runId: of, ...rest } = event.input.reconciled[reconciled++];
        yield { type: "tool.reconciled", of, ...rest };
        break;
      }
      case "permission.decided": {
        const { interactionId, question, allow } = fact as Record<string, any>;
        yield { type: "permission.decided", interactionId, question, allow, note: event.answer.note };
        break;
      }
      case "message.added":
        yield { type: "message.added", role: fact.role as "user" | "assistant", text: messageText(event, fact.from as string) };
        break;
      case "tool.called":
        yield { type: "tool.called", callId: event.callId, name: event.name, args: event.args, reconcile: event.reconcile };
        break;
      case "tool.settled":
        yield {
          ...{ type: "tool.settled", callId: event.callId, name: fact.name as string, outcome: event.outcome },
          ...(event.blobs === undefined ? {} : { blobs: event.blobs }),
        };
        break;
      case "tool.unknown":
        yield { type: "tool.unknown", callId: fact.callId as string, name: fact.name as string };
        break;
    }
  }
}

/** The text that a `message.added` fact refers to. */
export function messageText(event: Record<string, any>, from: string): string {
  if (from === "input") return event.input.text;
  if (from === "output") return event.output.text;
  // Version 1 of the run kept an answer as its text.
  return typeof event.answer === "string" ? event.answer : event.answer.text;
}
