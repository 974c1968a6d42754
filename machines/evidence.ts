/**
 * Evidence: what was seen around a source when it is to be continued, and what of it speaks against that.
 *
 * Code outside observes and puts what it saw into the event; the machines decide by these rules, and a check that only reads asks the
 * same ones.
 */

import { z } from "zod";
import { configuration, digest, OPEN_CALLS } from "./schema.ts";

/** Tools that a program may have. */
export const TOOLS_LIMIT = 1024;

const toolName = z.string().min(1).max(128);
const workspace = z.string().max(4096).nullable();

/** What was observed before a continuation. */
export const evidence = z.strictObject({
  /** Digest of the source's segments, each verified. */
  boundary: digest,
  /** True where a person denied a permission in one of them. */
  denied: z.boolean(),
  /** The workspace's identity when the source was opened, and now; null where it could not be told. */
  workspace: z.strictObject({ source: workspace, now: workspace }),
  /** False where work that the source began outside of it may still go on. */
  backgroundSettled: z.boolean(),
  /** Tools that were called before and are not there, that a check saw (null where there was none), and that are there now; each sorted. */
  tools: z.strictObject({
    missing: z.array(toolName).max(TOOLS_LIMIT),
    checked: z.array(toolName).max(TOOLS_LIMIT).nullable(),
    now: z.array(toolName).max(TOOLS_LIMIT),
  }),
  /** Tools whose calls have no known outcome and may not simply be made again. */
  unknown: z.array(toolName).max(OPEN_CALLS),
  /** What the source was opened with, and what its session would open a run with now. */
  configuration: z.strictObject({ source: configuration, now: configuration }),
});

/** What was observed before a continuation. */
export type Evidence = z.infer<typeof evidence>;

/** What may speak against going on, as codes. */
export type Doubt =
  | "configuration_changed"
  | "workspace_unknown"
  | "workspace_changed"
  | "background_pending"
  | "tool_set_changed"
  | "tools_unknown";

/** Why this evidence speaks against going on, as codes, in the order of their weight; empty where nothing does. */
export function doubts(evidence: Evidence, purpose: "handoff" | "plain"): Doubt[] {
  const { workspace, backgroundSettled, tools, configuration, unknown } = evidence;
  const found: Doubt[] = [];
  // A new turn is begun as its session is configured; the same turn goes on as it was.
  if (purpose === "handoff" && !isSame(configuration.source, configuration.now)) found.push("configuration_changed");
  if (workspace.source === null) found.push("workspace_unknown");
  else if (workspace.source !== workspace.now) found.push("workspace_changed");
  if (!backgroundSettled) found.push("background_pending");
  if (tools.missing.length > 0 || (tools.checked !== null && tools.checked.join("\n") !== tools.now.join("\n")))
    found.push("tool_set_changed");
  // The same turn is its successor's to judge: it sees which calls are unknown.
  if (purpose === "plain" && unknown.length > 0) found.push("tools_unknown");
  return found;
}

function isSame(source: z.infer<typeof configuration>, now: z.infer<typeof configuration>): boolean {
  return source.backend === now.backend && source.cwd === now.cwd && source.permissionMode === now.permissionMode;
}
