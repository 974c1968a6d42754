/** Problem: what keeps a machine from being durable, where it stands, and how to write it instead. */

/** One thing in a machine that cannot be made durable. */
export interface MachineProblem {
  /** `id`, `version`, `schemas.…`, `setup.…`, or `<state node id>.entry`, `.on.<event type>`, and so on. */
  readonly path: string;
  /** Reads on from the path. */
  readonly problem: string;
  /** How to write it instead. */
  readonly remedy: string;
}

/** Notes a problem. */
export type Report = (path: string, problem: string, remedy: string) => void;
