/**
 * Receipts: evidence, checkable offline, that a state root recorded exactly one successor for one seal.
 *
 * A receipt holds the journal entry with the seal, the entry with the claim, and the successor's entries up to its dispatch, byte for
 * byte, with what the hash chain needs; and the boundary, which is the head of every run that the sealed one stands on. The claim names
 * the hash of the seal's entry, and the successor's opening names both, so none of the three can be exchanged alone. The root's id is
 * bound by the digest alone, which anyone can compute: that this root wrote it, and not a root made for the purpose, a signature says.
 */

import type { KeyObject } from "node:crypto";
import { z } from "zod";
import { LINEAGE_LIMIT } from "../../machines/schema.ts";
import { HoldfastError } from "../actor/error.ts";
import { firstIssue } from "../actor/input.ts";
import { bodyOf, hashOf, inflated, NO_HASH } from "../actor/journal.ts";
import { canonical, sha256 } from "../actor/json.ts";
import { entriesOf } from "../actor/page.ts";
import type { JournalRow, StoreReader } from "../actor/store.ts";
import { boundaryDigest, factsOf, type Segment, segmentsOf } from "./boundary.ts";
import { agentError } from "./error.ts";
import { publicKeyOf, signatureFault, signatureOf, signatureSchema } from "./receipt-signature.ts";
import { contextOf } from "./snapshot.ts";

const entry = z.strictObject({
  seq: z.number().int().positive(),
  atMs: z.number().int(),
  version: z.string(),
  cause: z.string(),
  event: z.string(),
  facts: z.string(),
  actions: z.string(),
  /** The text of the facts, where they are a blob and the column holds its digest. */
  stated: z.string().exactOptional(),
});

const part = z.strictObject({
  actor: z.string(),
  /** Hash of the entry before the first one here; empty before an actor's first. */
  previous: z.string(),
  entries: z.array(entry).min(1).max(1000),
  /** Hash of the last entry here. */
  hash: z.string(),
});

const segment = z.strictObject({ sessionId: z.string(), turnId: z.string(), runId: z.string(), seq: z.number(), hash: z.string() });

/** What both forms hold, in the order of the file. */
const parts = {
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
};

const receiptSchema = z.discriminatedUnion("format", [
  z.strictObject({ format: z.literal("holdfast.receipt.v1"), ...parts, digest: z.string() }),
  z.strictObject({
    format: z.literal("holdfast.receipt.v2"),
    ...parts,
    /** The heads of the runs that lead to the seal, oldest first, the sealed run's last; and their digest. */
    boundary: z.strictObject({ segments: z.array(segment).min(1).max(LINEAGE_LIMIT), digest: z.string() }),
    /** SHA-256 of the canonical JSON of all before it. */
    digest: z.string(),
    signature: signatureSchema.exactOptional(),
  }),
]);

/** The content of a receipt's file. New ones have the format `holdfast.receipt.v2`; the first had neither boundary nor signature. */
export type Receipt = z.infer<typeof receiptSchema>;
type Part = z.infer<typeof part>;

/** How a receipt is written: `signed` by the key of its root. */
export interface ReceiptOptions {
  readonly signed?: boolean;
}

/** What a receipt must be besides whole. */
export interface CheckReceiptOptions {
  /** An Ed25519 public key, as PEM or as a key, known from elsewhere: the receipt must be signed by it. */
  readonly publicKey?: string | KeyObject;
}

/**
 * The receipt of the handoff that a run was sealed for, or that created it, signed where there is a private key, asked for last. The
 * journals that it stands on are verified first. Throws `run_not_found`, `receipt_unavailable`, `journal_damaged`, `snapshot_damaged`, `lineage_cycle`,
 * `lineage_limit`, `lineage_mismatch`.
 */
export function receiptOf(reader: StoreReader, runId: string, key?: () => KeyObject): Extract<Receipt, { format: "holdfast.receipt.v2" }> {
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
  const segments = segmentsOf(reader, sourceRunId, { verify: true });
  const content = {
    format: "holdfast.receipt.v2" as const,
    rootId: reader.rootId,
    sessionId,
    turnId,
    sourceRunId,
    successorRunId,
    seal,
    claim,
    successor,
    boundary: { segments, digest: boundaryDigest(segments) },
  };
  const digest = sha256(canonical(content));
  return { ...content, digest, ...(key ? { signature: signatureOf(digest, key()) } : {}) };
}

/** The entry that states a fact, alone or with all before it. */
function partOf(reader: StoreReader, actor: string, fact: string, whole = false): Part | undefined {
  const entries: JournalRow[] = [];
  let previous = NO_HASH;
  for (const row of entriesOf(reader, actor)) {
    entries.push(row);
    if (factsOf(reader, row).some(({ type }) => type === fact)) {
      const held = (whole ? entries : [row]).map((entry) => content(reader, entry));
      return { actor, previous: whole ? NO_HASH : previous, entries: held, hash: row.hash };
    }
    if (!whole) entries.length = 0;
    previous = row.hash;
  }
  return undefined;
}

function content(reader: StoreReader, row: JournalRow): z.infer<typeof entry> {
  const { seq, atMs, version, cause, event, facts, actions } = row;
  const stated = inflated(reader, { ...row, event: "", actions: "" }).facts;
  return { seq, atMs, version, cause, event, facts, actions, ...(stated === facts ? {} : { stated }) };
}

/** The text of a receipt's file: this form and no other, so that every changed byte shows. */
export function receiptText(receipt: Receipt): string {
  return `${JSON.stringify(receipt, null, 2)}\n`;
}

/**
 * Checks a receipt's file without its root; a signature that it has is always checked. Gives the receipt. Throws `receipt_invalid` with
 * what does not hold, and `argument_invalid` where `publicKey` is no such key.
 */
export function checkReceipt(text: string, { publicKey }: CheckReceiptOptions = {}): Receipt {
  const key = publicKey === undefined ? null : publicKeyOf(publicKey);
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
  const { digest, signature, ...rest } = { signature: undefined, ...receipt };
  if (sha256(canonical(rest)) !== digest) throw invalid("its content does not match its digest");
  for (const name of ["seal", "claim", "successor"] as const) checkChain(receipt[name], (problem) => invalid(`${name}: ${problem}`));
  const demand: Demand = (condition, problem) => {
    if (!condition) throw invalid(problem);
  };
  try {
    checkMeaning(receipt, demand);
  } catch (error) {
    throw error instanceof HoldfastError && error.code === "receipt_invalid" ? error : invalid("an entry cannot be read");
  }
  const fault = signatureFault(digest, signature, key);
  if (fault) throw invalid(fault);
  return receipt;
}

type Demand = (condition: unknown, problem: string) => void;

function checkChain({ actor, previous, entries, hash }: Part, invalid: (problem: string) => Error): void {
  let last = previous;
  for (const [index, row] of entries.entries()) {
    if (row.seq !== (entries[0]?.seq ?? 0) + index) throw invalid(`entry ${row.seq} is out of order`);
    last = hashOf(last, actor, row.seq, bodyOf(row));
  }
  if (last !== hash) throw invalid("the chain does not end in its hash");
}

/** The facts of a part; those that are a blob in the journal are held against the digest that the chain binds. */
function statedIn({ actor, entries, hash }: Part): readonly Record<string, any>[] {
  return entries.flatMap(({ stated, ...row }) => {
    const blob = () => (stated === undefined ? undefined : Buffer.from(stated, "utf8"));
    const facts = factsOf({ blob }, { ...row, actor, hash });
    // A text that nothing refers to would be bound by nothing.
    if (
      stated !== undefined &&
      (stated === row.facts || inflated({ blob }, { ...row, actor, hash, event: "", actions: "" }).facts !== stated)
    )
      throw agentError("receipt_invalid", "the receipt does not hold: it has facts that no entry refers to");
    return facts;
  });
}

/** What the parts say of each other. */
function checkMeaning(receipt: Receipt, demand: Demand): void {
  const { sourceRunId, successorRunId, turnId, sessionId } = receipt;
  const [seal] = statedIn(receipt.seal).filter(({ type }) => type === "run.sealed");
  const [claim] = statedIn(receipt.claim).filter(({ type }) => type === "handoff.claimed");
  const begun = statedIn(receipt.successor);
  const opened = begun.find(({ type }) => type === "run.opened");
  const dispatches = begun.filter(({ type }) => type === "run.dispatched");
  const head = { runId: sourceRunId, seq: receipt.seal.entries.at(-1)?.seq ?? 0, hash: receipt.seal.hash };
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
  if (receipt.format === "holdfast.receipt.v1") return;
  const { segments, digest } = receipt.boundary;
  checkBoundary(segments, { sessionId, turnId, ...head }, demand);
  demand(digest === boundaryDigest(segments), "its boundary does not match its digest");
  demand((opened?.source?.boundary ?? digest) === digest, "the successor opened for another boundary");
}

/** The segments of a lineage that ends in the sealed run. */
function checkBoundary(segments: readonly Segment[], sealed: Segment, demand: Demand): void {
  demand(boundaryDigest(segments.slice(-1)) === boundaryDigest([sealed]), "its boundary does not end in the seal");
  demand(new Set(segments.map(({ runId }) => runId)).size === segments.length, "its boundary names a run twice");
  demand(
    segments.every(({ sessionId }) => sessionId === sealed.sessionId),
    "its boundary spans two sessions",
  );
}
