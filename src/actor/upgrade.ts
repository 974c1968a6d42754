/**
 * Upgrade check: what other machines would make of the unfinished actors of a root, before they are deployed.
 *
 * Guarantees: reads only; each actor is reported by itself, and one that is damaged hides none of the others.
 */

import { lastEntry, parkedAs, pending } from "./admission.ts";
import { CONTEXT_LIMIT } from "./engine-option.ts";
import { messageOf } from "./error.ts";
import { fold, isFoldedTo } from "./fold.ts";
import { hasMigration, migrate } from "./migration.ts";
import { entriesOf, PAGE, pages } from "./page.ts";
import type { Registration } from "./registration.ts";
import type { ActorRow, StoreReader } from "./store.ts";
import type { Enclosure } from "./transition.ts";
import { compareVersions } from "./version.ts";

/** What would become of one actor. */
export interface UpgradeReport {
  readonly actor: string;
  /** Version that wrote it, and that of the machine it was held against; null where no machine has its id. */
  readonly from: string;
  readonly to: string | null;
  /**
   * `same`: it goes on as it is; its journal, folded through the machine, gives the same facts, requests and snapshot. `migratable`: a
   * migration leads to the machine's version, and gives what the machine can hold. `quarantined`: it was set aside, by whatever version
   * is deployed, and no deploy changes that: release it before or after. `blocked`: none of these.
   */
  readonly verdict: "same" | "migratable" | "quarantined" | "blocked";
  /** Where it is blocked or quarantined: a code of the registry, what is wrong, and the journal entry or the field that it is about. */
  readonly code?: string;
  readonly reason?: string;
  readonly path?: string;
}

/**
 * One report for each unfinished actor, in the order of their creation. Its cost grows with their journals. `changed` and `sizeLimit`
 * (`contextLimit`) are what the machines will be opened with.
 */
export function* checkUpgrade(
  reader: StoreReader,
  registrations: ReadonlyMap<string, Registration>,
  enclose: Enclosure,
  changed: "refuse" | "refold" = "refuse",
  sizeLimit = CONTEXT_LIMIT,
): Generator<UpgradeReport> {
  for (const row of pages(
    (after) => reader.actors({ status: "active" }, { after, limit: PAGE }),
    (found) => found.ordinal,
  )) {
    const registration = registrations.get(row.machine);
    const to = registration?.version ?? null;
    let verdict: Verdict;
    try {
      verdict = registration
        ? judge({ reader, registration, row, enclose, changed, sizeLimit })
        : blocked("machine_unknown", `there is no machine ${row.machine}`);
    } catch (error) {
      verdict = blocked("journal_damaged", messageOf(error));
    }
    yield { actor: row.address, from: row.version, to, ...verdict };
  }
}

type Verdict = Pick<UpgradeReport, "verdict" | "code" | "reason" | "path">;

function blocked(code: string, reason: string, path?: string): Verdict {
  return { verdict: "blocked", code, reason, ...(path === undefined ? {} : { path }) };
}

interface Judged {
  readonly reader: StoreReader;
  readonly registration: Registration;
  readonly row: ActorRow;
  readonly enclose: Enclosure;
  readonly changed: "refuse" | "refold";
  readonly sizeLimit: number;
}

function judge({ reader, registration, row, enclose, changed, sizeLimit }: Judged): Verdict {
  const { address, version } = row;
  if (row.quarantine) {
    const { code, message } = row.quarantine;
    return { verdict: "quarantined", code: "actor_quarantined", reason: `${code}: ${message}; release it before the deploy or after` };
  }
  const last = lastEntry(row, reader);
  if (typeof last === "string") return blocked("snapshot_damaged", last, "row");
  if (compareVersions(version, registration.version) > 0)
    return blocked("machine_version_newer", `it was written by version ${version}; the machine has ${registration.version}`);
  const folded = fold({ registration, actor: address, reader, enclose }, entriesOf(reader, address));
  const fault = folded.faults[0];
  const isChanged = parkedAs(registration, row) === "machine_changed";
  const changedTo = (what: string, path: string) =>
    blocked("machine_changed", `${row.machine} was changed and still says that it is version ${version}: ${what}`, path);
  const remedy = "give the changed machine a version of its own and a migration";
  if (fault && isChanged && fault.code === "fold_mismatch") return changedTo(`${fault.message}; ${remedy}`, `entry ${fault.seq}`);
  if (fault) return blocked(fault.code, fault.message, `entry ${fault.seq}`);
  try {
    JSON.parse(row.snapshot);
  } catch (error) {
    return blocked("snapshot_damaged", messageOf(error), "snapshot");
  }
  if (version !== registration.version) {
    if (!hasMigration(registration, version))
      return blocked("machine_version_unknown", `no migration leads from version ${version} to ${registration.version}`, "version");
    try {
      migrate(registration, { row, ...pending(address, reader) }, { atMs: row.updatedMs, epoch: row.epoch, enclose, sizeLimit });
      return { verdict: "migratable" };
    } catch (error) {
      const { code = "snapshot_damaged", details } = error as { code?: string; details?: { path?: string } };
      return blocked(code, messageOf(error), details?.path);
    }
  }
  if (!isFoldedTo(registration, folded, row.snapshot)) {
    const other = "its journal gives another snapshot through this machine";
    return isChanged ? changedTo(`${other}; ${remedy}`, "snapshot") : blocked("fold_mismatch", other, "snapshot");
  }
  if (changed === "refuse" && isChanged)
    return changedTo(`its journal gives the same, so changed: "refold" would accept it; or ${remedy}`, "definition");
  return { verdict: "same" };
}
