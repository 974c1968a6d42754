/** The decisions of the specification, as what surrounds a turn: what its person wants, and what goes wrong around it. */

import { type Composition, fakeComposition } from "../../src/index.ts";

/** What a person does, in order. All but `request` and `resume` wait until the turn is held. */
export const WISHES = ["request", "commit", "cancel", "stop", "recover", "resume"] as const;

export type Wish = (typeof WISHES)[number];

export interface Surroundings {
  /** Its row of the matrix. */
  readonly row: number;
  readonly wishes: readonly Wish[];
  /** What the backend declares for a run; null: nothing. Absent: the same for all. */
  readonly compositions?: Readonly<Record<string, Composition | null>>;
  /** The backend that the successor gets cannot prepare. */
  readonly losesPrepare?: true;
  readonly sealFails?: true;
  /** A person denied something in an earlier segment, as the program's own record says. */
  readonly denied?: true;
  /** That record cannot be read. */
  readonly denialsFail?: true;
  /** The stored body of the source's composition is gone before the resume. */
  readonly compositionIsGone?: true;
}

const other = `sha256:${"1".repeat(64)}`;
const handedOff: readonly Wish[] = ["request", "commit", "resume"];
const successorDeclares = (row: number, changes: Partial<Composition> | null): Surroundings => ({
  row,
  wishes: handedOff,
  compositions: { "successor-run": changes && fakeComposition(changes) },
});

export const DECISIONS = {
  commit: { row: 1, wishes: handedOff },
  cancel: { row: 2, wishes: ["request", "cancel"] },
  stop: { row: 3, wishes: ["request", "commit", "stop"] },
  write_failure: { row: 4, wishes: ["request", "commit"], sealFails: true },
  missing_source_snapshot: { row: 5, wishes: ["request", "commit", "cancel"], compositions: { "original-run": null } },
  missing_persisted_source_snapshot: { row: 6, wishes: handedOff, compositionIsGone: true },
  missing_capability: { row: 7, wishes: handedOff, losesPrepare: true },
  uncommitted_preparation: successorDeclares(8, null),
  prompt_drift: successorDeclares(9, { promptHash: other }),
  tool_drift: successorDeclares(10, { toolsHash: other }),
  availability_drift: successorDeclares(11, { availabilityHash: other }),
  provider_options_drift: successorDeclares(12, { providerOptionsHash: other }),
  context_window_drift: successorDeclares(13, { contextWindow: 8192 }),
  revision_only: successorDeclares(14, {
    composerId: "other.composer",
    composerRevision: "2",
    sourceRevisions: [{ id: "a", revision: "1" }],
    toolNames: ["x"],
  }),
  inherited_denial: { row: 15, wishes: handedOff, denied: true },
  denial_lookup_failure: { row: 16, wishes: handedOff, denialsFail: true },
} as const satisfies Readonly<Record<string, Surroundings>>;

/** A decision that the model makes a path for. */
export type Decision = keyof typeof DECISIONS;

export const surroundingsOf = (decision: Decision): Surroundings => DECISIONS[decision];
