/**
 * Walk: a person, a backend and processes that do anything at any time, in any order, on the real runtime, beside the model.
 *
 * Its moves are commands of fast-check; written down, a walk is one line: `commit: request, step.ends !inside 2, stop, restart killed`.
 * What cannot be done in a state is tried as well, and must change nothing.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Handoff } from "../../../src/index.ts";
import { dump } from "../../../src/testing/exercise-machine-fault.ts";
import { DECISIONS, type Decision } from "../decision.ts";
import { BEGINNING, type Happening, happen, type Model, restarted } from "../model.ts";
import { isAnswer } from "./answer.ts";
import { between, nextState } from "./crash.ts";
import { Drive } from "./drive.ts";
import { anything } from "./graph.ts";
import { type Phase, readDatabase } from "./quick-world.ts";

/** What a person may try at any time. */
const TRIED = ["request", "commit", "cancel", "stop", "resume"] as const;
/** What happens only where it can. */
const HAPPENS = ["step.ends", "prepare.ends", "flush.ends", "recover", "abort", "restart closed", "restart killed"] as const;
const MOVES = [...TRIED, ...HAPPENS] as const;
const PHASES = ["before", "inside", "after"] as const;

/** One move, and where the process dies while it is made. */
interface Move {
  readonly name: (typeof MOVES)[number];
  readonly death?: { readonly phase: Phase; readonly nth: number };
}

/** A whole walk, as data. */
export interface Walk {
  readonly decision: Decision;
  readonly moves: readonly Move[];
}

/** What was done on all walks. */
export const tally = { walks: 0, moves: 0, refused: 0, deaths: 0 };

/** Where a walk is, and by which moves it came there. */
interface Whereabouts {
  model: Model;
  readonly made: string[];
}

class Step implements fc.AsyncCommand<Whereabouts, Drive> {
  readonly #move: Move;

  constructor(move: Move) {
    this.#move = move;
  }

  check({ model }: Whereabouts): boolean {
    return (TRIED as readonly string[]).includes(this.#move.name) || this.#happening(model) !== undefined;
  }

  async run(place: Whereabouts, drive: Drive): Promise<void> {
    tally.moves++;
    place.made.push(this.toString());
    const happening = this.#happening(place.model);
    if (!happening) return refused(this.#move.name as (typeof TRIED)[number], drive);
    const before = place.model;
    place.model = happen(before, happening);
    const left = this.#left(drive);
    await drive.happen(happening, place.model);
    const file = left();
    if (file === undefined) return;
    tally.deaths++;
    place.model = readDatabase(file, (left) => nextState(left, between(before, place.model), `after ${this}`));
    await drive.back(file);
    await drive.agrees(place.model, `after ${this}`);
  }

  toString(): string {
    return textOfMove(this.#move);
  }

  #happening(model: Model): Happening | undefined {
    return anything(model).find((happening) => nameOf(happening) === this.#move.name);
  }

  /** Keeps what the process leaves at the moment of its death; undefined where it does not come to it. */
  #left({ world }: Drive): () => string | undefined {
    const { death } = this.#move;
    let [file, left]: [string | undefined, number] = [undefined, death?.nth ?? 0];
    world.onCommit = (phase) => {
      if (phase === death?.phase && --left === 0) file = world.leave();
    };
    return () => {
      world.onCommit = () => {};
      return file;
    };
  }
}

const nameOf = (happening: Happening): string => (happening.type === "restart" ? `restart ${happening.how}` : happening.type);

/** Whoever tries what cannot be done now is told so, and nothing is written. */
async function refused(name: (typeof TRIED)[number], { play, world }: Drive): Promise<void> {
  tally.refused++;
  const before = dump(world.reader);
  for (const act of name === "resume" ? (["check", "begin to resume"] as const) : [name])
    await play.act(act).catch((error) => {
      // What was wanted no longer is not wanted again.
      if (error !== play.abort.signal.reason) throw error;
    });
  const told = Object.values(play.answers).at(-1);
  assert.ok(isNo(name, told, play.handoff), `${name} was not possible, and came to ${told}`);
  assert.ok(dump(world.reader) === before, `${name} was not possible, and wrote something`);
}

/** What is asked for a second time is the same request; without a handle on a handoff nothing comes of it. */
function isNo(name: (typeof TRIED)[number], told: unknown, handle: Handoff | undefined): boolean {
  if (!handle && (told === undefined || told === null)) return name === "request" || name === "commit" || name === "cancel";
  return (name === "request" && (told === "accepted" || told === null)) || isAnswer(name, told, false);
}

const textOfMove = ({ name, death }: Move): string => (death ? `${name} !${death.phase} ${death.nth}` : name);

/** A walk as a line. */
export const textOf = ({ decision, moves }: Walk): string => `${decision}: ${moves.map(textOfMove).join(", ")}`;

/** A line as a walk. Throws where it is none. */
export function walkOf(line: string): Walk {
  const [decision = "", moves = ""] = line.split(": ");
  if (!Object.hasOwn(DECISIONS, decision)) throw new Error(`there is no decision ${decision}`);
  return {
    decision: decision as Decision,
    moves: moves.split(", ").map((text) => {
      const [, name, phase, nth] = /^([a-z. ]+?)(?: !(before|inside|after) (\d+))?$/.exec(text) ?? [];
      if (!(MOVES as readonly (string | undefined)[]).includes(name)) throw new Error(`there is no move ${text}`);
      return { name: name as Move["name"], ...(phase ? { death: { phase: phase as Phase, nth: Number(nth) } } : {}) };
    }),
  };
}

const death = fc.record({ phase: fc.constantFrom(...PHASES), nth: fc.integer({ min: 1, max: 4 }) });
const anyMove = fc
  .record({
    name: fc.constantFrom(...MOVES, "step.ends", "resume", "commit", "flush.ends"),
    death: fc.option(death, { freq: 4, nil: undefined }),
  })
  .map(({ name, death }): Move => (death && !name.startsWith("restart") ? { name, death } : { name }));

/** Walks of up to so many moves; what cannot happen where it comes is left out. */
export const anyWalk = (maxMoves: number): fc.Arbitrary<{ decision: Decision; commands: Iterable<fc.AsyncCommand<Whereabouts, Drive>> }> =>
  fc.record({
    decision: fc.constantFrom(...(Object.keys(DECISIONS) as Decision[])),
    commands: fc.commands([anyMove.map((move) => new Step(move))], { maxCommands: maxMoves, size: "max" }),
  });

/** Goes it, from the beginning of the turn. Rejects, with the line that shows it again, where the runtime and the model part. */
export async function go(decision: Decision, commands: Iterable<fc.AsyncCommand<Whereabouts, Drive>>): Promise<void> {
  tally.walks++;
  const drive = new Drive(decision);
  const place: Whereabouts = { model: BEGINNING, made: [] };
  try {
    await drive.open();
    place.model = happen(happen(BEGINNING, { type: "setting", decision }), { type: "start" });
    await drive.happen({ type: "start" }, place.model);
    await fc.asyncModelRun(() => ({ model: place, real: drive }), commands);
    await drive.verify(place.model, "at the end of the walk");
    await drive.happen({ type: "restart", how: "killed" }, restarted(place.model));
  } catch (error) {
    throw new Error(`${decision}: ${place.made.join(", ")}\n${(error as Error).message}`, { cause: error });
  } finally {
    await drive.end();
  }
}

/** The commands of a walk that was written down. */
export const commandsOf = ({ moves }: Walk): Step[] => moves.map((move) => new Step(move));
