/** Plays a row of the decision matrix: acts, one after the other, on one turn that is to be handed off. */

import { type Act, actNamed } from "./act.ts";
import { bounded } from "./bound.ts";
import { type Given, Stage } from "./stage.ts";

/** What a row is given, and its acts. */
export interface Script extends Given {
  readonly acts: readonly Act[];
}

export class Play extends Stage {
  static async of({ acts: list, ...given }: Script): Promise<Play> {
    const play = new Play(given);
    try {
      await play.world.open();
      for (const act of list) await play.act(act);
      return play;
    } catch (error) {
      await play.end();
      throw error;
    }
  }

  async act(name: Act): Promise<void> {
    const [verb, ...rest] = name.split(" ");
    if (verb === "open") return this.gate(rest.join(" ")).open();
    if (verb === "reach") return bounded(this.gate(rest.join(" ")).reached, `${name} was not reached`);
    let key: string = name;
    for (let number = 2; key in this.answers; number++) key = `${name} ${number}`;
    this.answers[key] = null;
    try {
      this.answers[key] = await bounded(actNamed(name)(this), `the act "${name}" did not end`);
    } catch (error) {
      const { code } = error as { code?: string };
      // Those of Node are slips of the row.
      if (code === undefined || error instanceof TypeError) throw error;
      this.answers[key] = code;
    }
  }
}
