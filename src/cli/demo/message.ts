/** Messages: what the demo and its child processes tell each other over Node's channel, and what a child is started with. */

import { z } from "zod";
import type { Json } from "../../actor/json.ts";

const place = { root: z.string(), cwd: z.string(), report: z.string(), revision: z.string() };

/** What a child is to do; its only argument, as JSON. */
export const assignmentSchema = z.discriminatedUnion("role", [
  /** Begin a turn, and hand it off or be killed about half way. */
  z.strictObject({ ...place, role: z.literal("begin"), until: z.enum(["handoff", "kill"]) }),
  /** Continue a run to its end; `holdLast`: wait for `go` before the last step. */
  z.strictObject({ ...place, role: z.literal("continue"), run: z.string(), purpose: z.enum(["handoff", "plain"]), holdLast: z.boolean() }),
  /** Try to continue a sealed run, and again after `go`. */
  z.strictObject({ ...place, role: z.literal("contend"), run: z.string() }),
]);

export type Assignment = z.infer<typeof assignmentSchema>;

/** What a child tells, in the order of its life. */
export type Message =
  /** It owns the root; what is there was recovered. */
  | { readonly type: "opened" }
  | { readonly type: "begun"; readonly run: string; readonly session: string; readonly turn: string }
  /** A step is about to begin. `step` counts over the whole survey; `of` is null before the folder is listed. */
  | { readonly type: "step"; readonly step: number; readonly of: number | null }
  | { readonly type: "progress"; readonly output: Json }
  /** The run is held at a boundary; this is what a commit would seal. */
  | { readonly type: "held"; readonly successor: string }
  | { readonly type: "sealed" }
  /** In the middle of a step, held there. */
  | { readonly type: "cut" }
  | { readonly type: "parked"; readonly codes: readonly string[] }
  /** Before the last step, held there until `go`. */
  | { readonly type: "waiting" }
  | { readonly type: "ended" }
  /** The root could not be opened. */
  | { readonly type: "refused"; readonly code: string }
  | { readonly type: "failed"; readonly code: string; readonly message: string };

/** What a child is told. */
export interface Go {
  readonly type: "go";
}
