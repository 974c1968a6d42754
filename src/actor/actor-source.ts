/** Source: what a handle on an actor needs of the engine. */

import type { Answer } from "./answer.ts";
import type { Feed } from "./feed.ts";
import type { Registration } from "./registration.ts";
import type { StoreReader } from "./store.ts";
import type { Enclosure } from "./transition.ts";
import type { Work } from "./work.ts";

/** What a handle needs of the engine. */
export interface ActorSource {
  readonly registration: Registration;
  readonly reader: StoreReader;
  readonly feed: Feed;
  readonly enclose: Enclosure;
  now(): number;
  submit(work: Work): Promise<Answer>;
}
