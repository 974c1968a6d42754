/** Outcome: how a turn ended, as the result of `run`, `resume` and `stop`. */

import type { Outcome } from "../../machines/index.ts";
import { agentError } from "../agent/error.ts";
import { type ContextOf, contextOf, sourceRunId } from "../agent/snapshot.ts";
import { EXIT, type Exit } from "./exit.ts";
import { oneLine, plural, quoted } from "./format.ts";
import { withReader } from "./reading.ts";
import type { Result } from "./result.ts";
import type { Screen } from "./screen.ts";
import { commandName, rootOption } from "./self.ts";
import { hasBackend, totalsOf } from "./survey.ts";
import { fields } from "./table.ts";

/** The result of a run that has ended, read from the root. */
export function turnResult(root: string, runId: string, screen: Screen): Result {
  return withReader(root, (reader) => {
    const context = contextOf(reader, "run", runId);
    const row = reader.actor(`run/${runId}`);
    if (!context || !row) throw agentError("run_not_found", `there is no run ${runId}`);
    const { outcome, sessionId, turnId, source, configuration } = context;
    const totals = outcome?.kind === "completed" ? totalsOf(reader, runId) : null;
    const { files, bytes, lines } = totals ?? { files: 0, bytes: 0, lines: 0 };
    return {
      exit: outcome ? exitOfOutcome(outcome) : EXIT.done,
      document: {
        ...(outcome?.kind === "failed" ? { error: outcome.error } : {}),
        root,
        run: runId,
        session: sessionId,
        turn: turnId,
        continues: sourceRunId(source),
        state: row.state,
        outcome,
        report: totals?.report ?? null,
        survey: totals && { files, bytes, lines },
      },
      lines: [
        ...(totals ? [`Surveyed ${plural(files, "file")}, ${plural(bytes, "byte")}, ${plural(lines, "line")}.`] : []),
        ...fields([
          ["Report", totals?.report],
          ["Run", `${oneLine(runId)}  ${screen.style(outcome?.kind === "completed" ? "green" : "yellow", oneLine(why(context, true)))}`],
          ["Session", oneLine(sessionId)],
        ]),
        ...(outcome && outcome.kind !== "completed" && hasBackend(configuration.backend)
          ? [`Continue it: ${commandName()} resume ${quoted(runId)}${rootOption(root)}`]
          : []),
      ],
    };
  });
}

function exitOfOutcome(outcome: Outcome): Exit {
  return { completed: EXIT.done, failed: EXIT.failed, cancelled: EXIT.interrupted }[outcome.kind];
}

/** Why a run is as it is, in a few words; empty while it is alive and nothing is asked of it. */
export function why(
  { outcome, handoff, interaction }: Pick<ContextOf<"run">, "outcome" | "handoff"> & Partial<Pick<ContextOf<"run">, "interaction">>,
  final: boolean,
): string {
  switch (outcome?.kind) {
    case "completed":
      return `completed: ${outcome.stopReason}`;
    case "failed":
      return `failed: ${outcome.error.code}: ${oneLine(outcome.error.message)}`;
    case "cancelled":
      return `cancelled by ${outcome.by}`;
    default:
      if (!handoff) return interaction ? `waits for ${interaction.id}` : "";
      return `${final ? "sealed for" : "to be handed off to"} run ${handoff.successorRunId}`;
  }
}
