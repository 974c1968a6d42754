/** Work: what can be asked of the engine. */

import type { Answer } from "./answer.ts";
import type { Draft } from "./draft.ts";
import type { Checked } from "./input.ts";
import type { Json } from "./json.ts";

/** Another actor's revision that must still hold when the event is taken. */
export interface Expectation {
  readonly actor: string;
  readonly seq: number;
}

/** What an effect came to. */
export type EffectOutcome =
  | { readonly kind: "done"; readonly output: Json }
  | { readonly kind: "failed"; readonly error: { readonly code: string; readonly message: string } }
  | { readonly kind: "aborted" }
  | { readonly kind: "unknown" };

/** What a person says an effect came to. */
export type Resolution = { readonly output: unknown } | { readonly error: { readonly code: string; readonly message: string } };

/** What can be asked of the engine. `row` changes rows that no machine is asked about. */
export type Work =
  | { readonly kind: "create"; readonly machine: string; readonly id: string; readonly input: unknown; readonly keys: readonly string[] }
  | {
      readonly kind: "event";
      readonly to: string;
      readonly event: { readonly type: string };
      /** The event by its machine's schema, as it was when it was sent. */
      readonly checked?: Checked;
      readonly key?: string;
      /** Of an event with a key, as it was when it was sent: its digest, or where it is not plain JSON. */
      readonly digest?: string;
      readonly unfit?: string;
      readonly expect?: readonly Expectation[];
      /** The effect whose handler sends this; refused with `effect_gone` once the effect has ended. */
      readonly during?: string;
    }
  | { readonly kind: "result"; readonly effect: string; readonly outcome: EffectOutcome }
  /** Settled by hand; `actor` is the one that requested it. */
  | { readonly kind: "resolve"; readonly effect: string; readonly actor: string; readonly outcome: Resolution }
  | { readonly kind: "timer"; readonly timer: string }
  | { readonly kind: "reopen"; readonly actor: string }
  /** Reads an actor, which migrates it or accepts its changed machine, and delivers what waited for that. */
  | { readonly kind: "admit"; readonly actor: string }
  | { readonly kind: "stop"; readonly actor: string }
  | { readonly kind: "release"; readonly actor: string; readonly discard: boolean }
  | { readonly kind: "setAside"; readonly actor: string; readonly code: string; readonly message: string }
  | { readonly kind: "row"; readonly apply: (draft: Draft) => Answer };
