/** `holdfast copy SESSION`: forks a conversation at a turn, into a session of its own. */

import { COPY_TRANSITIONS, copySession } from "../../agent/copy.ts";
import { contextOf } from "../../agent/snapshot.ts";
import { withEngine } from "../acting.ts";
import { EXIT } from "../exit.ts";
import { oneLine, plural } from "../format.ts";
import { findSessionId } from "../id.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";

export interface CopyCommandOptions extends CommonOptions {
  readonly through?: string;
  readonly name?: string;
}

/** Throws `session_not_found`, `ambiguous`, what `Holdfast.copySession` throws, and `root_owned`. */
export async function copyCommand(given: string, options: CopyCommandOptions, screen: Screen): Promise<Result> {
  const { through, name } = options;
  return withEngine(
    options,
    async (engine) => {
      const from = findSessionId(engine.reader, given);
      const copy = await copySession(engine, from, {
        ...(through === undefined ? {} : { through }),
        ...(name === undefined ? {} : { name }),
      });
      const made = copy.getSnapshot().context;
      const last = made.lastRunId === null ? undefined : contextOf(engine.reader, "run", made.lastRunId);
      const ended = last?.source.kind === "copy" ? last.source.turnId : null;
      return {
        exit: EXIT.done,
        document: { session: copy.id, from, through: ended, turns: made.turns, lastRun: made.lastRunId, name: made.name },
        lines: [
          `${screen.style("green", "copied")}  session/${oneLine(from)}: ${plural(made.turns, "turn")}, through ${oneLine(ended ?? "")}`,
          `Copy     session/${copy.id}`,
        ],
      };
    },
    COPY_TRANSITIONS,
  );
}
