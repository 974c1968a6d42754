/** What is promised of every root, held against a state of the model: by the oracle of the simulation, which is written without the machines. */

import type { StoreReader } from "../../../src/actor/store.ts";
import { isFinal, stateName } from "../../../src/actor/transition.ts";
import { Oracle } from "../../simulation/oracle.ts";
import type { Decision } from "../decision.ts";
import { live, type Model } from "../model.ts";
import { violationsOf } from "./drive.ts";

/** What does not hold in a state. */
export function brokenIn(model: Model): string[] {
  const broken: string[] = [];
  new Oracle(readerOf(model), violationsOf(model.decision as Decision, broken)).rest();
  return broken;
}

/** The state as a store of which an oracle reads what it reads. */
function readerOf(model: Model): StoreReader {
  const reader: Pick<StoreReader, "entries" | "actor" | "deadLetters"> = {
    entries: ({ after = 0, limit }) => model.journal.map((row, index) => ({ ...row, position: index + 1 })).slice(after, after + limit),
    actor: (address) => {
      const actor = live(model, address);
      if (!actor) return undefined;
      const { snapshot } = actor;
      return { state: stateName(snapshot.value), status: isFinal(snapshot) ? "final" : "active" } as ReturnType<StoreReader["actor"]>;
    },
    deadLetters: (_, { after = 0 }) => model.letters.map((row, index) => ({ ...row, position: index + 1 })).slice(after),
  };
  return reader as StoreReader;
}
