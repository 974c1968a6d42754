/** Interaction: what persons are asked, as rows of a list. */

import { type InteractionAnswer, interaction as interactionMachine } from "../../../machines/index.ts";
import type { ActorRow, StoreReader } from "../../actor/store.ts";
import { contextOf } from "../../agent/snapshot.ts";
import { fromNow } from "../duration.ts";
import { coded } from "../exit.ts";
import { isoOf } from "../format.ts";
import type { Listed, Naming } from "./row.ts";

export const INTERACTION_TITLES = ["INTERACTION", "STATE", "KIND", "ASKED", "RUN", "QUESTION"];

/** Whether it takes an answer, as its machine says. */
export function isOpen({ state, quarantine }: Pick<ActorRow, "state" | "quarantine">): boolean {
  try {
    return !quarantine && interactionMachine.getStateNodeById(`${interactionMachine.id}.${state}`).tags.includes("open");
  } catch {
    // A state of another version: nobody can tell.
    return false;
  }
}

/** What was answered, in words. */
export function answerText(answer: InteractionAnswer): string {
  if (answer.kind === "text") return answer.text;
  return `${answer.allow ? "allowed" : "denied"}${answer.note === null ? "" : `: ${answer.note}`}`;
}

/** One question or permission, among its like. */
export function listInteraction(reader: StoreReader, row: ActorRow, name: Naming): Listed {
  const open = isOpen(row);
  const state = row.quarantine ? `${row.state} (set aside)` : open ? "open" : row.state;
  const base = { id: row.id, state: row.state, final: row.status === "final", open, created: isoOf(row.createdMs) };
  const asked = fromNow(row.createdMs);
  try {
    const { kind, question, hash, answer, runId, listener, sessionId, turnId } = contextOf(reader, "interaction", row.id)!;
    return {
      item: { ...base, kind, question, hash, answer, run: runId, listener, session: sessionId, turn: turnId },
      cells: [name(row.id), state, kind, asked, name(listener ?? runId), question],
      notes: [],
    };
  } catch (error) {
    const { code, message } = coded(error);
    return { item: { ...base, damaged: { code, message } }, cells: [name(row.id), state, "", asked, "", code], notes: [] };
  }
}
