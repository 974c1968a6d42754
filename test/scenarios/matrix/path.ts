/** Plays a path of the model: each of its steps as acts, and after each the store must say what the model says. */

import assert from "node:assert/strict";
import { type Decision, surroundingsOf } from "../decision.ts";
import { generate } from "../decision-path.ts";
import { type Happening, hasEnded, isHeld, type Model, type PathStep, standingAt, statesOf } from "../model.ts";
import { HANDOFF, TURN } from "../turn.ts";
import type { Act } from "./act.ts";
import { bounded } from "./bound.ts";
import { Play } from "./play.ts";
import type { Given } from "./stage.ts";

let generated: ReturnType<typeof generate> | undefined;

/** The paths of all decisions, made once. */
export function paths(): ReturnType<typeof generate> {
  generated ??= generate();
  return generated;
}

/** Everywhere that the backend can stand still, but where every row has a gate. */
export const GATES = ["original-run#2", "flush", "prepare successor-run", "successor-run#1", "successor-run#2"];

/** What is tried on a sealed turn before it is resumed, and must change nothing. */
const SEALED = ["recover a sealed turn", "copy the conversation", "plain check"] as const satisfies readonly Act[];

/** How each happening is brought about, given the state that it leads to. A happening without an entry does not compile. */
export const executors: {
  readonly [Type in Happening["type"]]: (happening: Extract<Happening, { type: Type }>, model: Model) => readonly Act[];
} = {
  setting: () => [],
  start: () => ["start"],
  request: () => ["request"],
  commit: () => ["commit"],
  cancel: () => ["cancel"],
  abort: () => ["abort the request"],
  restart: () => ["reopen"],
  stop: () => ["stop"],
  recover: () => ["mend the store", "recover"],
  resume: (_, { decision }) => {
    const { losesPrepare, compositionIsGone, denialsFail } = surroundingsOf(decision as Decision);
    return [
      ...(compositionIsGone ? (["delete the source's composition"] as const) : []),
      "check",
      ...(losesPrepare ? (["lose prepare"] as const) : []),
      ...(denialsFail ? (["the record of denials breaks"] as const) : []),
      "begin to resume",
    ];
  },
  "step.ends": ({ run, step }, model) => [`open ${run}#${step}`, ...(isHeld(model) ? (["ready", "preview"] as const) : [])],
  "prepare.ends": ({ run }) => [`open prepare ${run}`],
  "flush.ends": ({ seal }) => (seal === "lost" ? ["fail the seal", "open flush", "sealed"] : ["open flush", "sealed", ...SEALED]),
};

const actsOf = ({ happening, model }: PathStep): readonly Act[] =>
  (executors[happening.type] as (happening: Happening, model: Model) => readonly Act[])(happening, model);

/** What is asked when all is over. */
function closing(play: Play, model: Model): Act[] {
  return [
    ...(play.handoff && !("sealed" in play.answers) ? (["sealed"] as const) : []),
    ...(hasEnded(model, `run/${TURN.runId}`) ? (["end"] as const) : []),
    ...(play.resuming ? (["resume"] as const) : []),
    ...(hasEnded(model, `run/${HANDOFF.successorRunId}`) ? (["end of the successor"] as const) : []),
  ];
}

/** Waits until the backend stands where the model says that it stands, and runs have ended that have ended there. */
async function atRest(play: Play, model: Model): Promise<void> {
  for (const place of standingAt(model)) await bounded(play.gate(place).reached, `the backend did not come to ${place}`);
  if (isHeld(model)) await bounded(play.handoff?.ready, "the run was not held");
  for (const run of [TURN.runId, HANDOFF.successorRunId])
    if (hasEnded(model, `run/${run}`)) await bounded(play.run(run).end(), `${run} did not end`);
}

function stored(play: Play): Record<string, string> {
  const actors = play.world.actors();
  return Object.fromEntries(actors.map(({ address, state }) => [address, state]).sort());
}

/** Plays the decision's path. Throws where it has none, and, with the steps so far, where the store differs from the model. */
export async function playPath(decision: Decision, given: Pick<Given, "wholeTurns"> = {}): Promise<Play> {
  const path = paths().paths.get(decision);
  if (!path) throw new Error(`the model has no path to the end of ${decision}`);
  const { compositions, denied } = surroundingsOf(decision);
  const play = new Play({
    ...given,
    gates: GATES,
    ...(compositions ? { compositions } : {}),
    ...(denied ? { denials: "denied" } : {}),
  });
  const taken: string[] = [];
  try {
    await play.world.open();
    for (const step of path) {
      taken.push(step.happening.type);
      for (const act of actsOf(step)) await play.act(act);
      await atRest(play, step.model);
      if (step.happening.type !== "setting")
        assert.deepEqual(stored(play), Object.fromEntries(Object.entries(statesOf(step.model)).sort()), "the store is not as the model");
    }
    const last = path.at(-1) as PathStep;
    for (const act of closing(play, last.model)) await play.act(act);
    return play;
  } catch (error) {
    await play.end();
    throw new Error(`after ${taken.join(", ")}: ${(error as Error).message}`, { cause: error });
  }
}
