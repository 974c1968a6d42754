/** Stand-in: what every importer gets in place of a machine while a mutant is tried. */

import type { AnyStateMachine } from "xstate";
import { mutantsOf, mutatedBy } from "./mutant.ts";

/** The environment variable that names the mutant. */
export const MUTANT = "HOLDFAST_MUTANT";

/** The mutant of this machine that is tried now; the machine itself where it is another one's, or none. */
export function standIn<Machine extends AnyStateMachine>(machine: Machine): Machine {
  const wanted = process.env[MUTANT] ?? "";
  if (!wanted.startsWith(`${machine.id}: `)) return machine;
  const mutant = mutantsOf(machine).find(({ id }) => id === wanted);
  if (!mutant) throw new Error(`there is no mutant ${wanted}`);
  return mutatedBy(machine, mutant.config()) as Machine;
}
