/**
 * Recovery: what an ownership does first.
 *
 * Guarantees: the order of the design: unfinished actors of older epochs are told, then at-most-once effects that were started are
 * unknown, then what is open starts. A crash in here converges, for each part is done again by the next ownership. One damaged
 * actor stops nobody else (ACT-10). The work is bounded by what is unfinished.
 */

import { parkedAs } from "./admission.ts";
import type { Answer } from "./answer.ts";
import { engineError } from "./error.ts";
import { PARKED } from "./letter.ts";
import { entryAt, PAGE, pages, pagesOf } from "./page.ts";
import type { Registration } from "./registration.ts";
import type { ActorRow, EffectRow, StoreReader, UnfinishedMachine } from "./store.ts";
import { compareVersions } from "./version.ts";
import type { Work } from "./work.ts";

/**
 * Refuses a root with unfinished work of a newer machine than this program has. Reads only; called before anything is written. A row
 * whose own journal does not say that version is damaged, and no newer work.
 */
export function refuseNewer(reader: StoreReader, registrations: ReadonlyMap<string, Registration>): void {
  for (const { machine, version } of reader.unfinishedMachines()) {
    const ours = registrations.get(machine)?.version;
    if (ours !== undefined && compareVersions(version, ours) > 0 && isProved(reader, machine, version))
      throw engineError(
        "machine_version_newer",
        `unfinished actors were written by version ${version} of ${machine}; this program has ${ours}`,
        { details: { machine } },
      );
  }
}

function isProved(reader: StoreReader, machine: string, version: string): boolean {
  for (const row of pages((after) => reader.actors({ machine, status: "active" }, { after, limit: PAGE }), ordinalOf))
    if (row.version === version && entryAt(reader, row.address, row.seq)?.version === version) return true;
  return false;
}

export interface RecoveryDuties {
  readonly reader: StoreReader;
  readonly epoch: number;
  readonly registrations: ReadonlyMap<string, Registration>;
  readonly changed: "refuse" | "refold";
  submit(work: Work): Promise<Answer>;
  isRunning(key: string): boolean;
  start(effect: EffectRow): void;
}

/**
 * Brings unfinished actors of older versions to their machines' own, tells those of older epochs whose machines ask for it, and settles
 * what they had started. Throws where the store fails or is lost.
 */
export async function settlePast(duties: RecoveryDuties): Promise<void> {
  const { reader, epoch, registrations, changed, submit } = duties;
  const machines = reader.unfinishedMachines();
  const isOld = (found: UnfinishedMachine) => {
    const code = parkedAs(registrations.get(found.machine), found);
    return code === "migration_failed" || (changed === "refold" && code === "machine_changed");
  };
  for (const machine of new Set(machines.filter(isOld).map((found) => found.machine)))
    await eachPage(
      (after) => reader.actors({ machine, status: "active", quarantined: false }, { after, limit: PAGE }),
      ordinalOf,
      (page) => page.filter(isOld).map(({ address }) => submit({ kind: "admit", actor: address })),
    );
  await deliverParked(duties);
  for (const machine of new Set(machines.map((found) => found.machine)))
    if (registrations.get(machine)?.schemas.events["engine.reopened"])
      await eachPage(
        (after) => reader.actors({ machine, status: "active", quarantined: false, epochBelow: epoch }, { after, limit: PAGE }),
        ordinalOf,
        (page) => page.map(({ address }) => submit({ kind: "reopen", actor: address })),
      );
  await settleStarted(duties);
}

/** Delivers what could not be delivered under a program of another version, to those who can take it now. */
export async function deliverParked({ reader, submit }: RecoveryDuties): Promise<void> {
  for (const reason of PARKED)
    await eachPage(
      (after) => reader.deadLetters({ reason }, { after, limit: PAGE }),
      (letter) => letter.position,
      (page) => [...new Set(page.map(({ receiver }) => receiver))].map((actor) => submit({ kind: "admit", actor })),
    );
}

/** Started effects, of all or of one actor, that no handler works on: whether they ran cannot be known, and their machines decide. */
export async function settleStarted({ reader, submit, isRunning }: RecoveryDuties, actor?: string): Promise<void> {
  const filter = { state: "started" as const, ...(actor === undefined ? {} : { actor }) };
  await eachPage(
    (after) => reader.effects(filter, { after, limit: PAGE }),
    ordinalOf,
    (page) =>
      page.filter(({ key }) => !isRunning(key)).map(({ key }) => submit({ kind: "result", effect: key, outcome: { kind: "unknown" } })),
  );
}

/** Starts open effects that no handler works on; not those of actors that are set aside or that this program does not know. */
export function startOpen({ reader, registrations, start }: RecoveryDuties): void {
  for (const row of pages((after) => reader.startableEffects({ after, limit: PAGE }), ordinalOf))
    if (!parkedAs(registrations.get(row.machine), row)) start(row);
}

function ordinalOf(row: { readonly ordinal: number }): number {
  return row.ordinal;
}

/** What is asked for because of a page is asked for at once, so that it shares commits. */
async function eachPage<Row>(
  read: (after: number) => readonly Row[],
  cursor: (row: Row) => number,
  act: (page: readonly Row[]) => readonly Promise<Answer>[],
): Promise<void> {
  for (const page of pagesOf(read, cursor)) await all(act(page));
}

/** Waits for all; throws where the store failed or is lost. */
async function all(asked: readonly Promise<Answer>[]): Promise<void> {
  for (const result of await Promise.allSettled(asked)) {
    if (result.status === "rejected") throw result.reason;
    if (result.value.kind === "refused" && result.value.code === "not_owner") throw engineError("not_owner", result.value.message);
  }
}

/** Says, as a warning of the process, which unfinished actors this program cannot run: they would seem to hang. */
export function warnOfParked({ reader, registrations }: RecoveryDuties): void {
  for (const { machine, version, definition } of reader.unfinishedMachines()) {
    const code = parkedAs(registrations.get(machine), { version, definition });
    if (!code) continue;
    const isOne = (row: ActorRow) => row.version === version && row.definition === definition;
    const example = reader.actors({ machine, status: "active", quarantined: false }, { limit: PAGE }).find(isOne);
    if (example)
      process.emitWarning(
        `Unfinished actors of ${machine}, version ${version}, are parked as ${code} (${example.address}): see holdfast upgrade-check.`,
        { code: "HOLDFAST_PARKED" },
      );
  }
}
