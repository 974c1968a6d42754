/** Judge: what became of each mutant. */

import type { AnyStateMachine } from "xstate";
import { checkMachine } from "../../src/actor/machine-check.ts";
import { EXPLAINED } from "./explained.ts";
import { Killer, STAGES, type Stage } from "./killer.ts";
import { type Kind, type Mutant, mutantsOf, mutatedBy } from "./mutant.ts";

export interface Verdict {
  readonly id: string;
  readonly machine: string;
  readonly kind: Kind;
  /** `stillborn`: XState or the registration refuses the machine, so no actor can run it. `explained`: survived, with a reason. */
  readonly fate: "killed" | "survived" | "explained" | "stillborn";
  /** The stage and the test that noticed it; of one that is stillborn, why it is refused. */
  readonly stage?: Stage;
  readonly by?: string;
}

/** Tries these mutants of these machines, one after the other. Throws where a test fails without any. */
export async function judge(
  machines: readonly AnyStateMachine[],
  isMeant: (mutant: Mutant) => boolean,
  tell: (verdict: Verdict) => void,
): Promise<Verdict[]> {
  const killer = await Killer.open();
  const sound = new Set<string>();
  const killedBy = async (stage: Stage, { machine, id }: Mutant) => {
    const about = stage === "rows" ? machine : stage;
    const failure = sound.has(about) ? undefined : await killer.killedBy(stage, machine);
    if (failure !== undefined) throw new Error(`without a mutant fails: ${failure}`);
    sound.add(about);
    return killer.killedBy(stage, machine, id);
  };
  const verdicts: Verdict[] = [];
  try {
    for (const machine of machines)
      for (const mutant of mutantsOf(machine).filter(isMeant)) {
        const verdict = await fateOf(machine, mutant, killedBy);
        verdicts.push(verdict);
        tell(verdict);
      }
  } finally {
    await killer.close();
  }
  return verdicts;
}

async function fateOf(
  machine: AnyStateMachine,
  mutant: Mutant,
  killedBy: (stage: Stage, mutant: Mutant) => Promise<string | undefined>,
): Promise<Verdict> {
  const { id, kind } = mutant;
  const verdict = { id, machine: machine.id, kind };
  const refused = refusalOf(machine, mutant);
  if (refused !== undefined) return { ...verdict, fate: "stillborn", by: refused };
  for (const stage of STAGES) {
    const by = await killedBy(stage, mutant);
    if (by !== undefined) return { ...verdict, fate: "killed", stage, by };
  }
  return { ...verdict, fate: Object.hasOwn(EXPLAINED, id) ? "explained" : "survived" };
}

function refusalOf(machine: AnyStateMachine, mutant: Mutant): string | undefined {
  // What the mutator cannot do is no fault of the mutant.
  const config = mutant.config();
  try {
    const [first] = checkMachine(mutatedBy(machine, config));
    return first && `${first.path} ${first.problem}`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Explanations of these machines that explain nothing: of what was killed, or is no mutant. */
export function stale(verdicts: readonly Verdict[], isMeant: (id: string) => boolean): string[] {
  const explained = new Set(verdicts.filter(({ fate }) => fate === "explained").map(({ id }) => id));
  return Object.keys(EXPLAINED).filter((id) => isMeant(id) && !explained.has(id));
}
