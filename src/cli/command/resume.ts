/** `holdfast resume RUN`: continues a run from everything durable, or says why it is parked. */

import { resolve } from "node:path";
import type { Continuation, ContinuationCheck } from "../../agent/continuation.ts";
import { codedError } from "../../agent/error.ts";
import type { Holdfast } from "../../agent/runtime.ts";
import { contextOf } from "../../agent/snapshot.ts";
import { openHoldfast } from "../../index.ts";
import { follow } from "../follow.ts";
import { oneLine, plural } from "../format.ts";
import { findRunId } from "../id.ts";
import type { Interruption } from "../interruption.ts";
import { turnResult } from "../outcome.ts";
import { writableFile } from "../place.ts";
import { withOwnReader } from "../reading.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";
import { checkBackend, commandBackends, newPlace, recordedPlace } from "../survey.ts";

export interface ResumeOptions extends CommonOptions {
  readonly out?: string;
}

/** Opens the root, which recovers it; checks the run; continues it in this process. */
export async function resumeCommand(given: string, options: ResumeOptions, screen: Screen, interruption: Interruption): Promise<Result> {
  const out = options.out === undefined ? undefined : writableFile(options.out, "--out");
  const root = resolve(options.root);
  const { runId, place } = withOwnReader(root, (reader) => {
    const runId = findRunId(reader, given);
    const context = contextOf(reader, "run", runId);
    if (context) checkBackend(context.configuration.backend);
    return { runId, place: context && recordedPlace(reader, runId) };
  });
  interruption.throwIfHappened();
  const fresh = newPlace(root, out);
  const holdfast = await openHoldfast({
    root,
    backends: commandBackends({ ...fresh, ...place, ...(out === undefined ? {} : { report: out }) }),
  });
  try {
    const continuation = demandContinuation(runId, await check(holdfast, runId));
    screen.note(
      `Run ${oneLine(continuation.runId)} continues run ${oneLine(runId)} ${continuation.purpose === "handoff" ? "under its seal" : "in a new turn"}`,
    );
    await follow(holdfast.resume(continuation), () => holdfast.run(continuation.runId), interruption, screen);
    await holdfast.close();
    return turnResult(root, continuation.runId, screen);
  } finally {
    await holdfast.close();
  }
}

/** A sealed run is continued under its seal, any other in a new turn. */
async function check(holdfast: Holdfast, runId: string): Promise<ContinuationCheck> {
  const plain = await holdfast.checkContinuation(runId);
  const sealed = plain.decision === "park" && plain.reasons.some(({ code }) => code === "sealed_for_successor");
  return sealed ? holdfast.checkContinuation(runId, { purpose: "handoff" }) : plain;
}

/** The continuation, or an error with every reason against it. */
function demandContinuation(runId: string, found: ContinuationCheck): Continuation {
  if (found.decision === "continue") return found.continuation;
  const [first] = found.reasons;
  const message =
    found.reasons.length === 1 ? (first?.message ?? "") : `the run ${runId} is parked for ${plural(found.reasons.length, "reason")}`;
  throw codedError(first?.code ?? "run_not_active", message, { details: { parked: true, reasons: found.reasons } });
}
