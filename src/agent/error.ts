/** The agent runtime's part of the code registry. */

import { type CodeEntry, ENGINE_CODES, type ErrorDetails, HoldfastError } from "../actor/error.ts";

/** Codes that only the agent runtime gives. Those that a machine names as the reason of a refusal are among them. */
export const AGENT_CODES = {
  answer_unfit: {
    retryable: false,
    cause: "A question was answered by a decision, or a permission by a text.",
    remedy: "Answer a question with `answer`, and a permission with `decide`.",
  },
  argument_invalid: {
    retryable: false,
    cause: "An argument of the API or of the command does not fit.",
    remedy: "The message names the field and what was expected. Nothing was written.",
  },
  backend_unknown: {
    retryable: false,
    cause: "The session names a backend that this program did not pass to `openHoldfast`.",
    remedy: "Pass a backend under this name to `openHoldfast`; the command has only its own, so resume such a run from your program.",
  },
  background_pending: {
    retryable: true,
    cause: "Work that the run's tools began outside of it may still go on, so a successor could meet it half done.",
    remedy: "Wait until it has settled, or end it; then check again.",
  },
  branch_runtime_fact_rewrite_unsupported: {
    retryable: true,
    cause:
      "A turn that was to be copied is held or sealed for a successor that has not begun: its claim and its successor belong to this session alone and cannot be given to another.",
    remedy: "Resume the turn and let it end, stop it, or cancel its handoff; or copy the turns before it (`through`).",
  },
  call_repeated: {
    retryable: false,
    cause: "A tool call has the id of another call of the same run.",
    remedy: "Give each call of a run its own id.",
  },
  call_unknown: {
    retryable: false,
    cause: "An outcome was reported for a tool call that is not open.",
    remedy: "Report each call once, after its `tool.call` was accepted.",
  },
  composition_drift: {
    retryable: false,
    cause:
      "The composition differs from the one that it must agree with, in a field in which the drift policy refuses that: by default prompt, tools, availability, provider options or context window.",
    remedy:
      "Start the successor with the configuration of its source, or begin a new turn. The outcome lists each field, old, new and policy.",
  },
  composition_invalid: {
    retryable: false,
    cause: "The backend declared a composition that does not fit.",
    remedy: "Correct the backend's `prepare`: the message names the field.",
  },
  composition_not_durable: {
    retryable: false,
    cause: "The run has no durable composition: its backend declared none. It works, and cannot be handed off.",
    remedy: "Let the backend's `prepare` return a composition. A pending request can still be cancelled.",
  },
  composition_preparation_unsupported: {
    retryable: false,
    cause: "The backend of a successor cannot prepare a composition, so nothing proves that it continues the same work.",
    remedy: "Give the backend a `prepare`, or begin a new turn.",
  },
  configuration_changed: {
    retryable: false,
    cause: "The session's folder, permission mode or backend is not what the sealed turn was begun with.",
    remedy: "Configure the session as it was (`details` has both), resume, and change it for the turns after.",
  },
  continuation_already_exists: {
    retryable: false,
    cause: "Another run has continued from this boundary already.",
    remedy: "Follow that run: `holdfast show RUN` names it.",
  },
  continuation_claim_conflict: {
    retryable: false,
    cause: "Between the check and the resume another claim of the same boundary was recorded first.",
    remedy: "Nothing to do: the other continuation is the only one.",
  },
  continuation_disabled: {
    retryable: false,
    cause: "The program was opened with `continuations: false`: it continues no ended runs in new turns.",
    remedy: "Nothing is wrong with the run. Send the next message, or open the root with continuations.",
  },
  continuation_in_progress: {
    retryable: false,
    cause: "This process is continuing the same run already.",
    remedy: "Follow the continuation that is under way.",
  },
  copy_too_large: {
    retryable: false,
    cause:
      "A conversation is copied in one commit: at most 1,000 turns, 16,777,216 characters of JSON in all, values nested at most 94 levels deep, and no more transitions than the engine's `cascadeLimit`.",
    remedy: "Copy fewer turns (`through`). Nothing was written.",
  },
  denial_lookup_failed: {
    retryable: true,
    cause: "Whether a person denied a permission before could not be found out, and a denial must not be lost.",
    remedy: "Mend what `cause` names and resume again, or begin a new turn.",
  },
  handoff_in_progress: {
    retryable: false,
    cause: "A handoff of this run was requested before and is not over.",
    remedy: "Cancel the first request, or use it.",
  },
  handoff_not_pending: {
    retryable: false,
    cause: "There is no undecided handoff with this id to cancel.",
    remedy: "A committed handoff cannot be cancelled; the turn can still be stopped until the seal is written.",
  },
  interaction_answered: {
    retryable: false,
    cause: "The interaction has an answer already, and it was another one. The first durable answer stands.",
    remedy: "Read the answer that stands from the interaction's snapshot.",
  },
  interaction_changed: {
    retryable: false,
    cause: "The answer is bound to the hash of something that this interaction does not ask.",
    remedy: "Show what is asked now, and answer that.",
  },
  interaction_closed: {
    retryable: false,
    cause: "The turn that asked ended before anybody answered.",
    remedy: "Continue the run, or send the next message.",
  },
  interaction_not_found: {
    retryable: false,
    cause: "No interaction has this id.",
    remedy: "`holdfast ls interactions` lists them.",
  },
  interaction_not_open: {
    retryable: false,
    cause: "The run does not wait for an answer to this question.",
    remedy: "Answer the question that `holdfast show RUN` names.",
  },
  interaction_open: {
    retryable: true,
    cause: "The run waits for a person's answer.",
    remedy: "Answer it, for example by `holdfast answer INTERACTION TEXT`: the run goes on by itself. Or hand it off, or stop it.",
  },
  interaction_repeated: {
    retryable: false,
    cause: "A step asked under a name that the run has used for another question.",
    remedy: "Give each question of a run its own id.",
  },
  interrupted: {
    retryable: false,
    cause: "The process ended while a step of the run was in flight.",
    remedy: "Continue from everything durable with `holdfast resume RUN`.",
  },
  interrupted_at_boundary: {
    retryable: false,
    cause: "The process ended while the run was held at a boundary and nothing was decided.",
    remedy: "Continue with `holdfast resume RUN`; nothing was lost.",
  },
  interrupted_before_dispatch: {
    retryable: false,
    cause: "The process ended before the run was dispatched to its backend.",
    remedy: "Continue with `holdfast resume RUN`, or send the text again.",
  },
  lineage_cycle: {
    retryable: false,
    cause: "The runs that lead to this one lead to it again: the root was damaged.",
    remedy: "Restore the state root from a backup, or archive the session.",
  },
  lineage_limit: {
    retryable: false,
    cause: "A turn, or a chain of continuations, has 64 runs at most.",
    remedy: "Let the run end, and send the next message.",
  },
  lineage_mismatch: {
    retryable: false,
    cause: "A run does not agree with the run that it continues: the root was damaged.",
    remedy: "`holdfast verify` names what is wrong. Restore the state root from a backup, or archive the session.",
  },
  not_held: {
    retryable: true,
    cause: "The run is not held at a boundary for this handoff.",
    remedy: "Wait for `ready`; if it was false, the run ended or the request was cancelled.",
  },
  not_sealed: {
    retryable: false,
    cause: "The run was not sealed, so no successor may continue its turn.",
    remedy: "Resume without the purpose `handoff` to continue in a new turn.",
  },
  nothing_to_copy: {
    retryable: false,
    cause: "The session has no turn yet.",
    remedy: "Create a session instead.",
  },
  nothing_to_resume: {
    retryable: false,
    cause: "The run completed its turn, or it is a copy: another session's history, at which nothing is left to be done.",
    remedy: "Send the next message instead.",
  },
  plan_active: {
    retryable: false,
    cause: "An execution of the work plan is active.",
    remedy: "Complete it, or interrupt it first.",
  },
  plan_ended: {
    retryable: false,
    cause: "The work plan is completed or cancelled.",
    remedy: "Propose a new plan: `session.proposePlan`.",
  },
  plan_execution_stale: {
    retryable: false,
    cause:
      "The execution is not the plan's last one, or it is not in the state that this needs: active for an update, interrupted to be resumed.",
    remedy: "Read the plan's `state()`: it names the execution and how it stands.",
  },
  plan_exists: {
    retryable: false,
    cause: "The session has a work plan that is not over.",
    remedy: "Propose the next revision of that plan, or cancel it.",
  },
  plan_not_found: {
    retryable: false,
    cause: "No work plan has this id.",
    remedy: "`holdfast ls plans` lists them.",
  },
  plan_not_pending: {
    retryable: false,
    cause: "The latest revision of the work plan does not await approval.",
    remedy: "Propose a revision, or resume the execution that there is.",
  },
  plan_revision_changed: {
    retryable: false,
    cause: "The latest revision of the work plan is not the one that was to be approved.",
    remedy: "Show the person what is proposed now, and approve that.",
  },
  plan_steps_invalid: {
    retryable: false,
    cause:
      "An update leaves a step out, has one twice or one that the plan lacks, reopens one that was completed or skipped, or has two in progress.",
    remedy: "Give each step of the execution once; its present steps are in the plan's `state()`.",
  },
  receipt_invalid: {
    retryable: false,
    failure: true,
    cause: "A receipt was changed, or what it holds does not prove one successor for one seal.",
    remedy: "Write the receipt again from its state root with `holdfast receipt RUN`.",
  },
  receipt_unavailable: {
    retryable: false,
    cause: "The run belongs to no turn that was sealed and continued.",
    remedy: "A receipt exists for a turn that was handed off and dispatched by its successor.",
  },
  reconcile_failed: {
    retryable: true,
    cause: "A tool that was to say what came of a call that was cut off threw, or gave something that is no outcome.",
    remedy: "Mend the tool's `query`; the message is its own.",
  },
  run_active: {
    retryable: true,
    cause: "The run has not ended; only an ended or a sealed run can be continued, and only ended turns copied.",
    remedy: "Wait for its end, stop it, or hand it off; or copy the turns before it. What a crash left is ended by the next start.",
  },
  run_not_active: {
    retryable: false,
    cause: "The run has ended, or it is not the session's current one.",
    remedy: "`holdfast show RUN` tells how it ended.",
  },
  run_not_found: {
    retryable: false,
    cause: "No run has this id.",
    remedy: "`holdfast ls runs` lists them.",
  },
  run_stopping: {
    retryable: false,
    cause: "The run was stopped and starts no further tool.",
    remedy: "End the step when its signal is aborted.",
  },
  seal_not_durable: {
    retryable: true,
    failure: true,
    cause: "The handoff was committed, and the commit of its seal failed. The run stays paused.",
    remedy: "Mend what `cause` names: the seal is written as soon as the store takes it, at the latest by the next start.",
  },
  sealed_for_successor: {
    retryable: false,
    cause: "The run is sealed: only the successor that its seal names may continue it.",
    remedy: "Resume with the purpose `handoff`.",
  },
  session_archived: {
    retryable: false,
    cause: "The session is archived.",
    remedy: "Create a new session.",
  },
  session_blocked: {
    retryable: false,
    cause: "The run or the handoff that decides about the session's turn is quarantined.",
    remedy: "`holdfast ls quarantined` names the reason. Mend it and `holdfast release` what was set aside, or archive the session.",
  },
  session_busy: {
    retryable: true,
    cause: "A turn of the session is under way, or sealed and waiting for its successor.",
    remedy: "Wait for it, stop it, or resume it.",
  },
  session_not_found: {
    retryable: false,
    cause: "No session has this id.",
    remedy: "`holdfast ls sessions` lists them.",
  },
  source_composition_missing: {
    retryable: false,
    cause: "The stored composition of the sealed run is gone.",
    remedy: "Restore the state root from a backup, or stop the turn.",
  },
  source_identity_changed: {
    retryable: false,
    cause: "The source is not what it was when the continuation was checked.",
    remedy: "Check again.",
  },
  step_report_invalid: {
    retryable: false,
    cause: "The backend reported a step in a form that does not fit: for example a negative number of remaining steps.",
    remedy: "Correct the backend: the message names the field.",
  },
  step_unknown: {
    retryable: false,
    cause: "A step's result could not be committed, so whether it was done is unknown.",
    remedy: "Continue from everything durable with `holdfast resume RUN`.",
  },
  stop_in_progress: {
    retryable: false,
    cause: "The turn is being stopped already.",
    remedy: "Wait for its end.",
  },
  successor_not_new: {
    retryable: false,
    cause: "A handoff names its own run, or the turn's root run, as the successor.",
    remedy: "Name a new run, or let Holdfast mint the id.",
  },
  surroundings_unreadable: {
    retryable: true,
    cause: "The program's `inspect` threw, or gave something that does not fit, so nobody can tell whether it is safe to go on.",
    remedy: "Mend it: `cause` and the message say what happened.",
  },
  too_many_calls: {
    retryable: true,
    cause: "A run has 256 open tool calls at most.",
    remedy: "Wait for some of them to settle.",
  },
  tool_aborted: {
    retryable: false,
    cause: "A tool was running when its turn was stopped.",
    remedy: "The call's outcome says so; continue with `holdfast resume RUN` if wanted.",
  },
  tool_arguments_invalid: {
    retryable: false,
    cause: "The model called a tool with arguments that do not fit its schema. The tool was not run.",
    remedy: "The outcome goes back to the model, which may call again.",
  },
  tool_failed: {
    retryable: false,
    cause: "A tool threw an error that has no code of its own.",
    remedy: "The outcome goes back to the model; its message is the tool's.",
  },
  tool_result_invalid: {
    retryable: false,
    cause: "A tool's result is not plain JSON or is larger than 64 KiB.",
    remedy: "Keep digests and counts in the result and put bodies into blobs.",
  },
  tool_set_changed: {
    retryable: false,
    cause: "A tool that was called before is not there, or the tools are not those that the check saw.",
    remedy: "Resume with a program that has the tools (`details` lists them), or check again.",
  },
  tool_unknown: {
    retryable: false,
    cause: "The model called a tool that the backend does not have.",
    remedy: "The outcome goes back to the model.",
  },
  tool_unsettled: {
    retryable: false,
    cause: "A step ended while one of its tool calls had no outcome.",
    remedy: "Correct the backend: a step ends after its tools.",
  },
  tools_unknown: {
    retryable: false,
    cause: "A tool call of the run has no known outcome: its tool neither declares that calling it again is safe, nor could tell.",
    remedy:
      "Find out what the tool did. Where it declares `ask`, pass its outcome to `checkContinuation(run, { outcomes })`; else begin a new turn that says so.",
  },
  turn_inconsistent: {
    retryable: false,
    failure: true,
    cause: "What the runs of a turn say of each other does not fit together, so which of them decides about it cannot be told.",
    remedy: "`holdfast verify` names what is damaged. Restore the state root from a backup, or archive the session.",
  },
  turn_invalid: {
    retryable: false,
    cause:
      "A backend that drives whole turns broke its contract: an event that does not fit, one after `complete` or after `pause`, two boundaries at once, or one backend for two roots with a run of the same id.",
    remedy: "Correct the backend: the message says what it did. Give each root a backend of its own.",
  },
  turn_lost: {
    retryable: false,
    cause: "A backend that drives whole turns was asked to go on with one that it does not have in memory: another process began it.",
    remedy: "Continue from everything durable with `holdfast resume RUN`.",
  },
  turn_not_found: {
    retryable: false,
    cause: "The session has no turn with this id.",
    remedy: "`holdfast show RUN` names the turn of a run; `holdfast ls runs` lists the runs.",
  },
  turn_superseded: {
    retryable: false,
    cause: "The session has begun another turn since the run ended; continuing the run would leave that turn out of the transcript.",
    remedy: "Continue the session's last run, or send the next message.",
  },
  turn_unfinished: {
    retryable: false,
    cause: "A backend that drives whole turns ended one without `complete`, and no handoff had paused it.",
    remedy: "Correct the backend: it ends a turn by `complete`, and without it only after `pause`.",
  },
  workspace_changed: {
    retryable: false,
    cause: "The place where the run worked is another one now, or it is gone.",
    remedy: "Bring it back (`details` has both identities), or begin a new turn.",
  },
  workspace_unknown: {
    retryable: false,
    cause: "Nobody could tell in which place the run worked, so nobody can tell that it is the same one.",
    remedy: "Begin a new turn. Let `inspect` give a workspace's identity, or give the session a folder that exists.",
  },
} as const satisfies Record<string, CodeEntry>;

export type AgentCode = keyof typeof AGENT_CODES | keyof typeof ENGINE_CODES;

/** Every code that Holdfast can give. */
export const CODES: Readonly<Record<string, CodeEntry>> = { ...ENGINE_CODES, ...AGENT_CODES };

/** An error of the agent runtime; the compiler checks that the code is registered. */
export function agentError(code: AgentCode, message: string, options: { cause?: unknown; details?: ErrorDetails } = {}): HoldfastError {
  return codedError(code, message, options);
}

/** What a machine declined, in the words of the registry: `subject` is who declined it. */
export function declined(code: string, subject: string, options: { details?: ErrorDetails } = {}): HoldfastError {
  const { cause } = CODES[code] ?? { cause: "It is not taken now." };
  return codedError(code, `${subject} does not take this: ${cause}`, options);
}

/** What is the fault of the root as a whole, and of no single actor in it. */
const ROOT_FAILURES = new Set(["storage_failed", "closed", "not_owner"]);

/** True where the root failed: whoever goes through many actors stops then, and for nothing that is wrong with one of them. */
export function isRootFailure(error: unknown): boolean {
  return error instanceof HoldfastError && ROOT_FAILURES.has(error.code);
}

/** An error whose code comes from a machine or from a stored outcome. */
export function codedError(code: string, message: string, options: { cause?: unknown; details?: ErrorDetails } = {}): HoldfastError {
  return new HoldfastError(code, message, { ...options, retryable: CODES[code]?.retryable ?? false });
}
