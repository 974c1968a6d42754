/** Contract of a handler: the code that does an effect's work. Apart from what runs it, so that the published types need none of Effect's. */

import type { Answer } from "./answer.ts";
import type { Json } from "./json.ts";

/** What a handler gets. */
export interface EffectCall<Params = any> {
  readonly params: Params;
  /** `<actor>:<seq>:<index>`: the same over every repetition of this effect. */
  readonly key: string;
  /** Address of the actor that asked. */
  readonly actor: string;
  /** 1 for the first try in this process. */
  readonly attempt: number;
  /** Aborted when the effect is cancelled, asked to stop, timed out, or the engine closes. */
  readonly signal: AbortSignal;
  /** Sends output to watchers; it is not stored. */
  progress(output: Json): void;
  /** Sends an event to the actor that asked; refused with `effect_gone` once the effect has ended. */
  send(event: { readonly type: string }): Promise<Answer>;
  /** Stores bytes by content; resolves with their SHA-256 when they are durable. */
  putBlob(bytes: Uint8Array): Promise<string>;
}

/** Does the work of an effect; its result becomes the effect's `done` event. An error with `retryable: false` ends the tries. */
export type EffectHandler<Params = any> = (call: EffectCall<Params>) => Promise<unknown>;
