/**
 * The proof of a machine: its paths on the real engine, a crash at each commit of them, and a store that fails at each of their writes.
 *
 * Works with any test framework that has `describe` and `test`; asserts with node:assert. The names of the tests are the promises.
 */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AnyStateMachine } from "xstate";
import { plural } from "../agent/count.ts";
import { choose, freshness, type Part, partsOf, shortText } from "./exercise-machine-choice.ts";
import { Camera, recover } from "./exercise-machine-crash.ts";
import { endlessness, uncoveredText } from "./exercise-machine-lack.ts";
import { type Driven, drive, type ModelStates } from "./exercise-machine-path.ts";
import { type Cast, castOf, openUnsynced, Stage } from "./exercise-machine-stage.ts";
import { type Exercised, planText, show, sumText } from "./exercise-machine-sum.ts";
import type { TestFramework } from "./exercise-store.ts";
import { checkFunction, checkList, checkMachineGiven, checkOptions, checkWhole } from "./option-check.ts";
import { Model } from "./path-model.ts";
import { Watched } from "./path-trace.ts";
import { BEGIN_MS, type MachinePath, type MachinePaths, PATH_OPTIONS, type PathOptions, pathsOf } from "./paths.ts";
import { isChosen } from "./sampling.ts";

/** What a machine is exercised with. */
export interface ExerciseOptions<Machine extends AnyStateMachine = AnyStateMachine> extends PathOptions<Machine> {
  /** Other machines that it tells of things or creates actors of: stand-ins take their places, and take notice of nothing. */
  readonly others?: readonly AnyStateMachine[];
  /** Paths that are run: all that cover something new, also where these are more, then evenly of the rest up to this number. Default: all. */
  readonly paths?: number;
  /** Crashes that are recovered from, at most, evenly over the commits of the paths as far as these are known beforehand. Default: all. */
  readonly crashes?: number;
  /** Paths on which stores fail, at most. Default: all. */
  readonly faults?: number;
  /** Is given one line that says how much was covered, when all is done. Default: prints it. */
  readonly tell?: (line: string) => void;
  /** What need not be covered, as `pathsFor` says it. Default: nothing. */
  readonly uncovered?: readonly string[];
}

/**
 * Declares the tests of one machine: each of its events has a way to happen; its paths cover every transition and every guard both ways;
 * after each move of a path what the engine has stored is what the machine says; after a crash before, inside and after each commit two
 * recoveries bring what the machine says, the journal goes on from what it was, and no at-most-once handler is called again; a store that
 * is busy, full or unreadable leaves nothing half done. Nothing waits for real time. What keeps the machine from being explored, also a
 * wrong option or a transition that is not pure, is one failing test. Returns counts that grow as the tests run; the last test tells them in one
 * line.
 *
 * Not covered: your handlers, which are not called, and your rules, for the machine itself says what is right. Other machines, for
 * stand-ins take notice of nothing. Two things at once, but for a handler that fails in the commit that asks it to stop. A crash while an
 * actor is being set aside, whose row the kit damages from outside; one while an owner recovers from another; one of the system, for nothing
 * waits for the disk. A store that fails while an owner opens, while an actor is set aside or taken back, at the outcome of an at-most-once
 * effect or of any effect while a timer is set, at a timer beside another, and at a second read of one commit. Both answers of a
 * `stateIn` that stands in a transition itself, and of what `and`, `or` and `not` make there of others: only guards with names count, with
 * each of the params that they are given.
 */
export function exerciseMachine<Machine extends AnyStateMachine>(
  machine: Machine,
  options: ExerciseOptions<Machine>,
  { describe, test }: TestFramework,
): Exercised {
  const exercise = explored(machine, options as ExerciseOptions);
  const {
    uncovered = [],
    paths: atMost,
    crashes,
    faults = Number.POSITIVE_INFINITY,
    limit,
    tell = show,
  } = Object(options) as typeof options;
  describe(`machine: ${machine?.id}`, () => {
    if (exercise instanceof Failed) {
      // Not while the file is read, where many frameworks do not say whose fault it is.
      test("can be explored", () => Promise.reject(exercise.error));
      return;
    }
    const { found } = exercise;
    // A limit that is given says how far is far enough.
    const isCut = !found.isComplete && limit !== undefined;
    const endless = endlessness(found, isCut, atMost);
    test(isCut ? `is explored as far as the limit of ${plural(limit, "state")}, and no further` : "is explored to its end", async () => {
      if (endless !== undefined) assert.fail(endless);
    });
    test("has a way for each of its events to happen", async () => {
      if (found.withoutWay.length > 0)
        assert.fail(`no variant is given for ${found.withoutWay.join(", ")}, and the engine does not make it`);
    });
    test(`has paths that cover all of its ${plural(found.transitions, "transition")}, and its ${plural(found.guards, "guard")} both ways`, async () => {
      const text = uncoveredText(found, uncovered, options.serialize !== undefined);
      if (text !== undefined) assert.fail(text);
    });
    // What is wrong with it is said above; driving all of it would take hours.
    const chosen = endless === undefined ? choose(found.paths, atMost) : choose(exercise.nearest(SOME), Math.min(atMost ?? SOME, SOME));
    const fresh = freshness(chosen);
    exercise.expect(chosen.reduce((sum, { moves }, index) => sum + moves.length - (fresh[index] ?? 0), 0));
    chosen.forEach((path, index) => {
      for (const part of partsOf(path, fresh[index] ?? 0))
        test(`path ${index + 1}${part.moves}: ${shortText(path)}`, () => exercise.path(part));
    });
    const faulty = chosen.filter((_, index) => isChosen(index, chosen.length, faults));
    for (const path of faulty) {
      const index = chosen.indexOf(path);
      test(`a failing store on path ${index + 1}: ${shortText(path)}`, () => exercise.faulty(path, fresh[index] ?? 0));
    }
    test(`tells what was covered: ${planText(chosen.length, found.paths.length, crashes, faulty.length)}`, async () => {
      tell(sumText(exercise));
      // Some of the tests may have been left out by whoever started them.
      if (exercise.paths < chosen.length || endless !== undefined) return;
      const missed = found.covered.filter((id) => !exercise.transitions.has(id));
      if (missed.length > 0) assert.fail(`these transitions were on a path, and were not taken: ${missed.join("; ")}`);
    });
  });
  return exercise;
}

/** States that are gone on from, and paths that are driven, of a machine that has no end. */
const SOME = 20;

/** Stands for a machine that cannot be explored. */
class Failed implements Exercised {
  readonly error: unknown;
  readonly transitions = new Set<string>();
  readonly paths = 0;
  readonly crashes = 0;
  readonly moments = 0;
  readonly failing = 0;
  readonly faults = 0;

  constructor(error: unknown) {
    this.error = error;
  }

  get found(): MachinePaths {
    throw this.error;
  }
}

function explored(machine: AnyStateMachine, options: ExerciseOptions): Exercise | Failed {
  try {
    check(machine, options);
    return new Exercise(machine, options);
  } catch (error) {
    return new Failed(error);
  }
}

const OPTIONS = [...PATH_OPTIONS, "others", "paths", "crashes", "faults", "tell", "uncovered"] satisfies (keyof ExerciseOptions)[];

/** Throws a TypeError or a RangeError that names what is wrong: a slip here must not prove less. */
function check(machine: AnyStateMachine, options: ExerciseOptions): void {
  checkOptions("exerciseMachine", options, OPTIONS);
  checkMachineGiven("machine", machine);
  const { others = [], uncovered = [] } = options;
  for (const name of ["paths", "crashes", "faults"] as const) checkWhole(name, options[name], 0);
  checkFunction("tell", options.tell);
  checkList("others", others);
  others.forEach((other, index) => {
    checkMachineGiven(`others[${index}]`, other);
  });
  checkList("uncovered", uncovered);
}

class Exercise implements Exercised {
  readonly found: MachinePaths;
  readonly transitions = new Set<string>();
  paths = 0;
  crashes = 0;
  moments = 0;
  failing = 0;
  faults = 0;
  readonly #cast: Cast;
  readonly #model: Model;
  readonly #options: PathOptions;
  readonly #atMost: number;
  /** The moments that are expected, and the crashes that were taken of those that came. */
  #expected = 0;
  #taken = 0;

  constructor(machine: AnyStateMachine, options: ExerciseOptions) {
    const { others = [], id = "path", crashes = Number.POSITIVE_INFINITY } = options;
    const watched = new Watched(machine);
    this.found = pathsOf(watched, options);
    this.#cast = castOf(machine, others, id);
    this.#model = new Model(watched, id);
    this.#options = options;
    this.#atMost = crashes;
  }

  /** The paths that come of so many states: what is near the beginning. */
  nearest(limit: number): readonly MachinePath[] {
    return pathsOf(this.#model.watched, { ...this.#options, limit }).paths;
  }

  /** So many moves are new. Each is one commit at least, which has three moments. */
  expect(moves: number): void {
    this.#expected = 3 * moves;
  }

  /** Evenly, until there were as many as there shall be: a move may have more commits than the one that is expected of it. */
  #isCrash(): boolean {
    const isCrash = isChosen(this.moments++, this.#expected, this.#atMost) && this.#taken < this.#atMost;
    if (isCrash) this.#taken++;
    return isCrash;
  }

  /** A part of a path, and a crash at each of its commits from a move on: those before were another's. */
  async path({ path, from, isLast }: Part): Promise<void> {
    await inFolder(async (folder, file) => {
      const stage = new Stage(this.#cast, file, BEGIN_MS);
      const camera = new Camera(stage, folder, () => this.#isCrash());
      // To set another actor aside, a row is damaged from outside, which no commit of the engine is.
      const onMove = (index: number) => camera.turn(path.moves[index]?.kind !== "aside");
      const onRest = (states: ModelStates) =>
        camera.develop(async (image) => {
          await recover(this.#cast, this.#model, image, states);
          this.crashes++;
        });
      await this.#drive(stage, path, { from, onMove, onRest });
      if (!isLast) return;
      this.paths++;
      for (const id of path.transitions) this.transitions.add(id);
    });
  }

  /** The path, with a store that fails at each write from this move on. */
  async faulty(path: MachinePath, from: number): Promise<void> {
    await inFolder(async (_, file) => {
      const { failedTransactions } = await this.#drive(new Stage(this.#cast, file, BEGIN_MS), path, { from, faults: true });
      this.failing++;
      this.faults += failedTransactions;
    });
  }

  async #drive(stage: Stage, path: MachinePath, driving: Parameters<typeof drive>[3]): Promise<Driven> {
    try {
      return await drive(stage, this.#model, path, driving);
    } finally {
      await stage.close();
    }
  }
}

/** A database that nobody has owned yet: to make one takes longer than a path. */
let template: Buffer | undefined;

/** A folder that is gone afterwards, with a database in it that nobody has owned yet. */
async function inFolder(body: (folder: string, file: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-machine-"));
  try {
    const file = join(folder, "path.db");
    if (template === undefined) {
      openUnsynced(file).close();
      template = readFileSync(file);
    } else writeFileSync(file, template);
    await body(folder, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
