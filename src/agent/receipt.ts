/**
 * Receipts: evidence, checkable offline, that a state root recorded exactly one successor for one seal.
 *
 * A receipt holds the journal entry with the seal, the entry with the claim, and the successor's entries up to its dispatch, byte for
 * byte, with what the hash chain needs. The claim names the hash of the seal's entry, and the successor's opening names both, so none
 * of the three can be exchanged alone. It does not prove that a whole root was not forged: that needs a signature, or a copy of the
 * chain's head kept elsewhere.
 */

import { z } from "zod";
import { HoldfastError } from "../actor/error.ts";
import { firstIssue } from "../actor/input.ts";
import { bodyOf, hashOf, NO_HASH } from "../actor/journal.ts";
import { canonical, sha256 } from "../actor/json.ts";
import { entriesOf } from "../actor/page.ts";
import type { JournalRow, StoreReader } from "../actor/store.ts";
import { agentError } from "./error.ts";
import { contextOf } from "./snapshot.ts";

const entry = z.strictObject({
  seq: z.number().int().positive(),
  atMs: z.number().int(),
  version: z.string(),
  cause: z.string(),
  event: z.string(),
  facts: z.string(),
  actions: z.string(),
});

const part = z.strictObject({
  actor: z.string(),
  /** Hash of the entry before the first one here; empty before an actor's first. */
  previous: z.string(),
  entries: z.array(entry).min(1).max(1000),
  /** Hash of the last entry here. */
  hash: z.string(),
});

const receiptSchema = z.strictObject({
  format: z.literal("holdfast.receipt.v1"),
  rootId: z.string(),
  sessionId: z.string(),
  turnId: z.string(),
  sourceRunId: z.string(),
  successorRunId: z.string(),
  /** The source run's last entry: the seal. */
  seal: part,
  /** The handoff's entry that gave the claim. */
  claim: part,
  /** The successor from its opening to its dispatch. */
  successor: part,
  /** SHA-256 of the canonical JSON of all the rest. */
  digest: z.string(),
});

/** The content of a receipt's file. */
export type Receipt = z.infer<typeof receiptSchema>;
type Part = z.infer<typeof part>;

/** The receipt of the handoff that a run was sealed for, or that created it. Throws `run_not_found`, `receipt_unavailable`. */
export function receiptOf(reader: StoreReader, runId: string): Receipt {
  const run = contextOf(reader, "run", runId);
  if (!run) throw agentError("run_not_found", `there is no run ${runId}`);
  const handoffId = run.source.kind === "handoff" ? run.source.handoffId : run.handoff?.handoffId;
  const handoff = handoffId === undefined ? undefined : contextOf(reader, "handoff", handoffId);
  if (!handoff?.seal) throw agentError("receipt_unavailable", `the run ${runId} belongs to no sealed turn`);
  const seal = partOf(reader, `run/${handoff.sourceRunId}`, "run.sealed");
  const claim = partOf(reader, `handoff/${handoff.handoffId}`, "handoff.claimed");
  const successor = partOf(reader, `run/${handoff.successorRunId}`, "run.dispatched", true);
  if (!seal || !claim || !successor)
    throw agentError("receipt_unavailable", `the turn ${handoff.turnId} was not continued by a dispatched successor`);
  const { sessionId, turnId, sourceRunId, successorRunId } = handoff;
  const content = {
    format: "holdfast.receipt.v1" as const,
    rootId: reader.rootId,
    sessionId,
    turnId,
    sourceRunId,
    successorRunId,
    seal,
    claim,
    successor,
  };
  return { ...content, digest: sha256(canonical(content)) };
}

/** The entry that states a fact, alone or with all before it. */
function partOf(reader: StoreReader, actor: string, fact: string, whole = false): Part | undefined {
  const entries: JournalRow[] = [];
  let previous = NO_HASH;
  for (const row of entriesOf(reader, actor)) {
    entries.push(row);
    if (states(row.facts, fact))
      return { actor, previous: whole ? NO_HASH : previous, entries: (whole ? entries : [row]).map(content), hash: row.hash };
    if (!whole) entries.length = 0;
    previous = row.hash;
  }
  return undefined;
}

function content({ seq, atMs, version, cause, event, facts, actions }: JournalRow): z.infer<typeof entry> {
  return { seq, atMs, version, cause, event, facts, actions };
}

function states(facts: string, type: string): boolean {
  return (JSON.parse(facts) as { type: string }[]).some((fact) => fact.type === type);
}

/** The text of a receipt's file: this form and no other, so that every changed byte shows. */
export function receiptText(receipt: Receipt): string {
  return `${JSON.stringify(receipt, null, 2)}\n`;
}

/** Checks a receipt's file without its root. Gives the receipt, or throws `receipt_invalid` with what does not hold. */
export function checkReceipt(text: string): Receipt {
  const invalid = (problem: string) => agentError("receipt_invalid", `the receipt does not hold: ${problem}`);
  let receipt: Receipt;
  try {
    const parsed = receiptSchema.safeParse(JSON.parse(text));
    if (!parsed.success) throw invalid(`${firstIssue(parsed.error).path} ${firstIssue(parsed.error).message}`);
    receipt = parsed.data;
  } catch (error) {
    throw error instanceof SyntaxError ? invalid("it is not JSON") : error;
  }
  if (receiptText(receipt) !== text) throw invalid("its form was changed");
  const { digest, ...rest } = receipt;
  if (sha256(canonical(rest)) !== digest) throw invalid("its content does not match its digest");
  for (const name of ["seal", "claim", "successor"] as const) checkChain(receipt[name], (problem) => invalid(`${name}: ${problem}`));
  try {
    checkMeaning(receipt, (condition, problem) => {
      if (!condition) throw invalid(problem);
    });
  } catch (error) {
    throw error instanceof HoldfastError ? error : invalid("an entry cannot be read");
  }
  return receipt;
}

function checkChain({ actor, previous, entries, hash }: Part, invalid: (problem: string) => Error): void {
  let last = previous;
  for (const [index, row] of entries.entries()) {
    if (row.seq !== (entries[0]?.seq ?? 0) + index) throw invalid(`entry ${row.seq} is out of order`);
    last = hashOf(last, actor, row.seq, bodyOf(row));
  }
  if (last !== hash) throw invalid("the chain does not end in its hash");
}

/** What the three parts say of each other. */
function checkMeaning(receipt: Receipt, demand: (condition: unknown, problem: string) => void): void {
  const { sourceRunId, successorRunId, turnId, sessionId } = receipt;
  const fact = (of: Part, type: string): Record<string, any> | undefined =>
    of.entries.flatMap((row) => JSON.parse(row.facts)).find((candidate) => candidate.type === type);
  const seal = fact(receipt.seal, "run.sealed");
  const claim = fact(receipt.claim, "handoff.claimed");
  const opened = fact(receipt.successor, "run.opened");
  const dispatches = receipt.successor.entries
    .flatMap((row) => JSON.parse(row.facts))
    .filter((candidate) => candidate.type === "run.dispatched");
  const head = { runId: sourceRunId, seq: receipt.seal.entries.at(-1)?.seq, hash: receipt.seal.hash };
  const same = (left: unknown, right: unknown) => left !== undefined && right !== undefined && canonical(left) === canonical(right);
  demand(receipt.seal.actor === `run/${sourceRunId}` && seal, "the seal's entry holds no seal of the source run");
  demand(seal?.successorRunId === successorRunId, "the seal names another successor");
  demand(receipt.claim.actor === `handoff/${seal?.handoffId}` && claim, "the claim's entry is not of the sealed handoff");
  demand(claim?.claimId === seal?.claimId && claim?.successorRunId === successorRunId, "the claim is not the one that the seal fixed");
  demand(same(claim?.source, head), "the claim is not for this seal's entry");
  demand(
    receipt.successor.actor === `run/${successorRunId}` && receipt.successor.entries[0]?.seq === 1,
    "the successor's entries do not begin with its opening",
  );
  demand(same(opened?.source?.head, head) && opened?.source?.claimId === seal?.claimId, "the successor did not open under this claim");
  demand(
    opened?.turnId === turnId && opened?.sessionId === sessionId && opened?.rootRunId === seal?.rootRunId,
    "the successor opened in another turn",
  );
  demand(dispatches.length === 1, "the successor was not dispatched exactly once");
}
