/**
 * Recovery: what an ownership does first.
 *
 * Guarantees: the order of the design: unfinished actors of older epochs are told, then at-most-once effects that were started are
 * unknown, then what is open starts. A crash in here converges, for each part is done again by the next ownership. One damaged
 * actor stops nobody else (ACT-10). The work is bounded by what is unfinished.
 */

import { engineError } from "./error.ts";
import type { Answer, Work } from "./macrostep.ts";
import { PAGE, pages } from "./page.ts";
import type { Registration } from "./registration.ts";
import type { ActorRow, EffectRow, StoreReader } from "./store.ts";

/** Refuses a root with unfinished work of a newer machine than this program has. Reads only; called before anything is written. */
export function refuseNewer(reader: StoreReader, registrations: ReadonlyMap<string, Registration>): void {
  for (const row of pages(
    (after) => reader.actors({ status: "active" }, { after, limit: PAGE }),
    (row) => row.ordinal,
  )) {
    const ours = registrations.get(row.machine)?.version;
    if (ours !== undefined && compareVersions(row.version, ours) > 0)
      throw engineError(
        "machine_version_newer",
        `${row.address} was written by version ${row.version} of ${row.machine}; this program has ${ours}`,
        { details: { actor: row.address } },
      );
  }
}

/** Dotted numbers, compared part by part; above 0 where `left` is newer. */
function compareVersions(left: string, right: string): number {
  const [ours, theirs] = [left.split(".").map(Number), right.split(".").map(Number)];
  for (let part = 0; part < Math.max(ours.length, theirs.length); part++) {
    const difference = (ours[part] ?? 0) - (theirs[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export interface RecoveryDuties {
  readonly reader: StoreReader;
  readonly epoch: number;
  readonly registrations: ReadonlyMap<string, Registration>;
  submit(work: Work): Promise<Answer>;
  isRunning(key: string): boolean;
  start(effect: EffectRow): void;
}

/** Tells the unfinished actors of older epochs, and settles what they had started. Throws where the store fails or is lost. */
export async function settlePast(duties: RecoveryDuties): Promise<void> {
  const { reader, epoch, submit } = duties;
  await eachPage<ActorRow & { ordinal: number }>(
    (after) => reader.actors({ status: "active", quarantined: false, epochBelow: epoch }, { after, limit: PAGE }),
    (row) => submit({ kind: "reopen", actor: row.address }),
  );
  await settleStarted(duties);
}

/** Started effects that no handler works on: whether they ran cannot be known, and their machines decide. */
export async function settleStarted({ reader, submit, isRunning }: RecoveryDuties): Promise<void> {
  await eachPage<EffectRow & { ordinal: number }>(
    (after) => reader.effects({ state: "started" }, { after, limit: PAGE }),
    (row) => (isRunning(row.key) ? undefined : submit({ kind: "result", effect: row.key, outcome: { kind: "unknown" } })),
  );
}

/** Starts open effects that no handler works on; not those of actors that are set aside or that this program does not know. */
export async function startOpen({ reader, registrations, start }: RecoveryDuties): Promise<void> {
  await eachPage<EffectRow & { ordinal: number }>(
    (after) => reader.effects({ state: "open" }, { after, limit: PAGE }),
    (row) => {
      const actor = reader.actor(row.actor);
      if (actor && !actor.quarantine && registrations.get(actor.machine)?.version === actor.version) start(row);
      return undefined;
    },
  );
}

async function eachPage<Row extends { readonly ordinal: number }>(
  read: (after: number) => readonly Row[],
  act: (row: Row) => Promise<Answer> | undefined,
): Promise<void> {
  for (let after = 0; ; ) {
    const page = read(after);
    // All of a page is asked for at once, so that it shares commits.
    const results = await Promise.allSettled(page.map(act));
    for (const result of results) {
      if (result.status === "rejected") throw result.reason;
      if (result.value?.kind === "refused" && result.value.code === "not_owner") throw engineError("not_owner", result.value.message);
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = last.ordinal;
  }
}
