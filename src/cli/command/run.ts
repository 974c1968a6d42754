/** `holdfast run PROMPT`: one durable turn, from the prompt to its end. */

import { resolve } from "node:path";
import { agentError } from "../../agent/error.ts";
import { openHoldfast } from "../../index.ts";
import { follow } from "../follow.ts";
import { oneLine } from "../format.ts";
import type { Interruption } from "../interruption.ts";
import { turnResult } from "../outcome.ts";
import { existingDirectory, isInside, writableFile } from "../place.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";
import { checkBackend, commandBackends, newPlace } from "../survey.ts";

export interface RunOptions extends CommonOptions {
  readonly backend: string;
  readonly dir: string;
  readonly out?: string;
}

/** Begins a turn in a new session, creating the state root where there is none. */
export async function runCommand(prompt: string, options: RunOptions, screen: Screen, interruption: Interruption): Promise<Result> {
  if (prompt.trim() === "") throw agentError("argument_invalid", "PROMPT: expected what to do, in words", { details: { path: "PROMPT" } });
  checkBackend(options.backend);
  const cwd = existingDirectory(options.dir, "--dir");
  const out = options.out === undefined ? undefined : writableFile(options.out, "--out");
  const root = resolve(options.root);
  // To open and close a file of the root in its owner's process would drop the owner's lock.
  if (isInside(cwd, root))
    throw agentError("argument_invalid", `--dir: ${cwd} is the state root or inside it`, { details: { path: "--dir" } });
  interruption.throwIfHappened();
  const holdfast = await openHoldfast({ root, backends: commandBackends(newPlace(root, out)) });
  try {
    const session = await holdfast.createSession({ backend: options.backend, cwd });
    const run = await session.send(prompt);
    screen.note(`Run ${run.id} works in ${oneLine(cwd)}`);
    await follow(run.events(), () => run, interruption, screen);
    await holdfast.close();
    return turnResult(root, run.id, screen);
  } finally {
    await holdfast.close();
  }
}
