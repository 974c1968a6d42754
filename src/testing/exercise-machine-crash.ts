/**
 * Crash: what a process leaves that dies before, inside or after a commit, and what the next two owners make of it.
 *
 * An image is a copy of the database at that moment: what the system has of it, and nothing of the process. The world outside remembers
 * which handlers were called.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { compare, type ModelStates, verifyStage } from "./exercise-machine-path.ts";
import { type Calls, type Cast, removeDatabase, Stage } from "./exercise-machine-stage.ts";
import type { Model } from "./path-model.ts";

/** The moment of a crash, and what it leaves. */
export interface Image {
  readonly phase: "before" | "inside" | "after";
  readonly file: string;
  readonly nowMs: number;
  readonly calls: Calls;
  readonly damaged: ReadonlySet<string>;
}

/** Takes images of a stage, of the moments that are wanted. */
export class Camera {
  #images: Image[] = [];
  #count = 0;
  readonly #stage: Stage;
  readonly #folder: string;
  readonly #isWanted: () => boolean;
  #isOn = false;

  constructor(stage: Stage, folder: string, isWanted: () => boolean) {
    this.#stage = stage;
    this.#folder = folder;
    this.#isWanted = isWanted;
    stage.onCommit = (phase) => this.#take(phase);
  }

  /** From here on each commit is looked at, or none. */
  turn(isOn: boolean): void {
    this.#isOn = isOn;
  }

  /** Gives each image that was taken since, and deletes it afterwards: a long path would fill the disk with them. */
  async develop(body: (image: Image) => Promise<void>): Promise<void> {
    const images = this.#images;
    this.#images = [];
    for (const image of images) {
      await body(image);
      removeDatabase(image.file);
    }
  }

  #take(phase: Image["phase"]): void {
    if (!this.#isOn || !this.#isWanted()) return;
    const file = join(this.#folder, `crash-${this.#count++}.db`);
    this.#stage.copyTo(file);
    const { clock, calls, damaged } = this.#stage;
    this.#images.push({ phase, file, nowMs: clock.now(), calls: new Map(calls), damaged: new Set(damaged) });
  }
}

/** Two owners come after a crash. Rejects with an AssertionError where one of them finds something else than the model says. */
export async function recover(cast: Cast, model: Model, image: Image, states: ModelStates): Promise<void> {
  const when = `after a crash ${image.phase} a commit`;
  const stage = new Stage(cast, image.file, image.nowMs, image);
  try {
    const store = stage.openStore();
    const journal = store.entries({ limit: 1000 });
    const seq = store.actor(cast.address)?.seq ?? 0;
    const aside = store.actors({ quarantined: true }, { limit: 1000 }).map(({ address }) => address);
    const left = states.get(seq)?.findLast((state) => state.aside.size === aside.length && aside.every((one) => state.aside.has(one)));
    assert(left || seq === 0, `${when}: what the machine says after entry ${seq} is not known`);
    const keysOf = (state: "started" | "unknown") =>
      new Set(store.effects({ actor: cast.address, state }, { limit: 1000 }).map(({ key }) => key));
    // That an outcome is lost is no entry: an image may be older than what is known of its last one.
    const lost = keysOf("unknown");
    const effects = left?.effects.map((row) => ({ ...row, state: lost.has(row.key) ? ("unknown" as const) : ("open" as const) }));
    const death = { nowMs: image.nowMs, epoch: store.epoch(), started: keysOf("started") };
    let state = left && effects && model.step({ ...left, effects }, { kind: "restart" }, death);
    for (const owner of ["the first owner", "the second owner"]) {
      await stage.open();
      if (state) await compare(stage, model, state, `${owner} ${when}`);
      else if (seq === 0) assert.equal(stage.store.actor(cast.address), undefined, `${owner} ${when}: there is an actor that was not made`);
      const found = stage.store.entries({ limit: 1000 });
      assert.deepEqual(found.slice(0, journal.length), journal, `${owner} ${when}: what was in the journal is not there as it was`);
      verifyStage(stage, `${owner} ${when}`);
      await stage.close();
      state &&= model.step(state, { kind: "restart" });
    }
  } finally {
    await stage.close();
  }
}
