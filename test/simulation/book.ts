/** Books: what the ledger keeps of each actor. */

/** What a run's journal has said. */
export interface RunBook {
  readonly id: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly source: Readonly<Record<string, any>>;
  /** False of a successor that was made to be stopped. */
  readonly isMeantToRun: boolean;
  dispatches: number;
  /** Requests of `prepare` without a result. */
  preparing: number;
  /** What was allowed to each step that was asked for. */
  readonly steps: Map<number, number | null>;
  readonly calls: Map<string, "called" | "settled" | "unknown">;
  /** Calls of which a person may say what came of them. */
  readonly asks: string[];
  /** Permissions that were asked for. */
  readonly permissions: string[];
  waiting: string | null;
  handoff: { readonly id: string; stage: "requested" | "held" | "committed" } | null;
  seal: Readonly<Record<string, any>> | null;
  outcome: Readonly<Record<string, any>> | null;
  /** The run that goes on from here. */
  next: string | null;
}

/** What a session's journal has said, and who belongs to it, in order. */
export interface SessionBook {
  readonly id: string;
  turn: { readonly turnId: string; tip: string } | null;
  planId: string | null;
  archived: boolean;
  readonly runs: string[];
  readonly handoffs: string[];
  readonly interactions: string[];
  readonly plans: string[];
}

/** What a handoff's journal has said. */
export interface HandoffBook {
  readonly id: string;
  readonly sourceRunId: string;
  readonly successorRunId: string;
  cancelled: boolean;
  claims: number;
  ended: string | null;
}

/** What an interaction's journal has said. */
export interface InteractionBook {
  readonly id: string;
  readonly sessionId: string;
  readonly kind: string;
  readonly hash: string;
  answer: Readonly<Record<string, any>> | null;
  taken: number;
  over: boolean;
}

/** What a work plan's journal has said. */
export interface PlanBook {
  readonly id: string;
  readonly sessionId: string;
  revision: number;
  pending: number | null;
  execution: string | null;
  isActive: boolean;
  turnEnded: boolean;
  /** Position of the entry that told it of the last turn's end. */
  endedAt: number;
  turnUnderWay: boolean;
  over: boolean;
  /** Ids of the steps that were approved. */
  steps: readonly string[];
  proposed: readonly string[];
}
