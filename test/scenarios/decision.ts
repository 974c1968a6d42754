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

/** A hash that no composition of the model's has by itself. */
export const otherHash = `sha256:${"1".repeat(64)}`;

/** What the successor declares differs so; null: it declares nothing. */
export const successorDeclares = (changes: Partial<Composition> | null) => ({
  compositions: { "successor-run": changes && fakeComposition(changes) },
});

const handedOff: readonly Wish[] = ["request", "commit", "resume"];
const drifted = (row: number, changes: Partial<Composition> | null): Surroundings => ({
  row,
  wishes: handedOff,
  ...successorDeclares(changes),
});

export const DECISIONS = {
  commit: { row: 1, wishes: handedOff },
  cancel: { row: 2, wishes: ["request", "cancel"] },
  stop: { row: 3, wishes: ["request", "commit", "stop"] },
  write_failure: { row: 4, wishes: ["request", "commit"], sealFails: true },
  missing_source_snapshot: { row: 5, wishes: ["request", "commit", "cancel"], compositions: { "original-run": null } },
  missing_persisted_source_snapshot: { row: 6, wishes: handedOff, compositionIsGone: true },
  missing_capability: { row: 7, wishes: handedOff, losesPrepare: true },
  uncommitted_preparation: drifted(8, null),
  prompt_drift: drifted(9, { promptHash: otherHash }),
  tool_drift: drifted(10, { toolsHash: otherHash }),
  availability_drift: drifted(11, { availabilityHash: otherHash }),
  provider_options_drift: drifted(12, { providerOptionsHash: otherHash }),
  context_window_drift: drifted(13, { contextWindow: 8192 }),
  revision_only: drifted(14, {
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
