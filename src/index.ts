/** `holdfast`: a runtime for agent sessions whose runs can be held at a safe boundary, sealed, and continued exactly once. */

import { type Holdfast, openRuntime, type RuntimeOptions } from "./agent/runtime.ts";
import { openReceiptKey } from "./store/receipt-key.ts";
import { type OwnedStoreOptions, openOwnedStore } from "./store/root-store.ts";

export { HoldfastError } from "./actor/error.ts";
export type { Fault } from "./actor/fold.ts";
export type { Json } from "./actor/json.ts";
export type { Resolution } from "./actor/resolution.ts";
export type { Retained, RetentionPolicy } from "./actor/retention.ts";
export type { ActorFilter, ActorRow, EffectRow, Page, PlacedDeadLetterRow, Quarantine, TimerRow } from "./actor/store.ts";
export type { Verified } from "./actor/verify.ts";
export type {
  Asked,
  Backend,
  Composition,
  EndedInput,
  FlushInput,
  PrepareInput,
  Reconcile,
  StepInput,
  StepReport,
  Tool,
  ToolContext,
  ToolOutcome,
  TranscriptEntry,
  TranscriptFact,
} from "./agent/backend.ts";
export type { Segment } from "./agent/boundary.ts";
export type { CheckOptions, Continuation, ContinuationCheck, Outcomes, ParkReason } from "./agent/continuation.ts";
export type { CopyOptions } from "./agent/copy.ts";
export type { LookUpDenials } from "./agent/denial.ts";
export type { EmbeddingOptions } from "./agent/embedding.ts";
export { CODES } from "./agent/error.ts";
export type { Handoff } from "./agent/handoff.ts";
export type { AnswerOptions, DecisionOptions, Interaction } from "./agent/interaction.ts";
export type { ProposedPlan, ProposedStep } from "./agent/proposal.ts";
export { type CheckReceiptOptions, checkReceipt, type Receipt, type ReceiptOptions, receiptText } from "./agent/receipt.ts";
export type { HandoffOptions, Run, RunEnd, RunEvent } from "./agent/run.ts";
export type { Holdfast, RuntimeOptions, SessionOptions } from "./agent/runtime.ts";
export type { ConfigurationChanges, Session, TurnOptions } from "./agent/session.ts";
export type { StopOptions } from "./agent/stop.ts";
export type { InspectSurroundings, Surroundings, SurroundingsInput } from "./agent/surroundings.ts";
export type { PendingHandoff, ReadTurnOptions, Turn, TurnMember, TurnOutline } from "./agent/turn.ts";
export type { Approval, Execution, PlanOptions, WorkPlan, WorkPlanState } from "./agent/work-plan.ts";
export { type FakeBackendOptions, fakeBackend, fakeComposition, type Script, type ScriptedStep } from "./backend/fake.ts";
export { type SurveyOptions, surveyBackend } from "./backend/survey.ts";
export type { TurnEvent, TurnInput } from "./backend/turn/contract.ts";
export { type TurnBackendOptions, turnBackend } from "./backend/turn.ts";

/** Where the state root is, and what works in it. */
export interface OpenHoldfastOptions
  extends Omit<RuntimeOptions, "release" | "receiptKey">,
    Pick<OwnedStoreOptions, "busyTimeoutMs" | "synchronous"> {
  /** Directory of the state root; created, with mode 0700, where there is none. */
  readonly root: string;
}

/**
 * Opens a state root as its owner and recovers what an earlier process left: live runs are interrupted, decided handoffs are sealed.
 * Throws `root_owned` while another process owns it, `input_invalid` where an option is, `machine_version_newer`, `schema_newer`,
 * `root_invalid`, `root_insecure`, `root_moved` where the directory was copied and not adopted, `journal_damaged`, `storage_failed`.
 */
export async function openHoldfast(options: OpenHoldfastOptions): Promise<Holdfast> {
  const { root, busyTimeoutMs, synchronous, ...runtimeOptions } = options;
  const owned = openOwnedStore({ ...options, path: root, create: true });
  try {
    return await openRuntime(owned.store, {
      ...runtimeOptions,
      receiptKey: () => openReceiptKey(owned.root),
      release: () => owned.release(),
    });
  } catch (error) {
    owned.release();
    throw error;
  }
}
