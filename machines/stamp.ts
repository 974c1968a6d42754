/** The engine's stamp, which it adds to each event and to the input of a new actor. */

/** The input without it, as a context keeps it. */
export function withoutStamp<Input extends object>(given: Input): Input {
  const { stamp: _, ...rest } = given as Input & { stamp?: unknown };
  return rest as Input;
}

/** The journal entry that this transition writes. In a plain actor of XState, which has no journal, it is the first. */
export function seqOf(event: unknown): number {
  return (event as { stamp?: { seq: number } }).stamp?.seq ?? 1;
}
