/** `holdfast stop RUN`: stops the turn of a run, whoever decides about it. */

import { resolve } from "node:path";
import { HoldfastError } from "../../actor/error.ts";
import { codedError } from "../../agent/error.ts";
import { contextOf } from "../../agent/snapshot.ts";
import { openHoldfast } from "../../index.ts";
import { EXIT } from "../exit.ts";
import { findRunId } from "../id.ts";
import { turnResult, why } from "../outcome.ts";
import { continuedBy, withOwnReader, withReader } from "../reading.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";
import { commandBackends, newPlace } from "../survey.ts";

/**
 * Opens the root, which ends what an earlier process left in the middle of a step, and stops the rest: a run that waits, or a sealed
 * turn, whose successor is then created and cancelled in one commit.
 */
export async function stopCommand(given: string, options: CommonOptions, screen: Screen): Promise<Result> {
  const root = resolve(options.root);
  const runId = withOwnReader(root, (reader) => findRunId(reader, given));
  const holdfast = await openHoldfast({ root, backends: commandBackends(newPlace(root, undefined)) });
  try {
    const run = holdfast.run(runId);
    try {
      await run.stop();
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      const { context, status } = run.getSnapshot();
      const reason = why(context, status === "done");
      throw codedError(error.code, `${error.message}${reason ? ` (${reason})` : ""}`, { cause: error });
    }
    await run.end();
    await holdfast.close();
    const stopped = withReader(root, (reader) => {
      const next = contextOf(reader, "run", runId)?.outcome ? null : continuedBy(reader, runId);
      return next ?? runId;
    });
    // What was asked for is done: a stopped turn is no failure here.
    return { ...turnResult(root, stopped, screen), exit: EXIT.done };
  } finally {
    await holdfast.close();
  }
}
