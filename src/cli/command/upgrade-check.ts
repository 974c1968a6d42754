/** `holdfast upgrade-check`: what other machines would make of every unfinished actor, before they are deployed. */

import type { UpgradeReport } from "../../actor/upgrade.ts";
import { checkUpgrade } from "../../actors.ts";
import { machinesFor } from "../acting.ts";
import { EXIT } from "../exit.ts";
import { countOf, oneLine } from "../format.ts";
import { type Listed, listLines, type Naming, naming } from "../list/row.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";

export interface UpgradeCheckOptions extends CommonOptions {
  readonly machines?: string;
}

/** Rows that are printed; the document has all. */
const SHOWN = 1000;
const VERDICTS = ["blocked", "quarantined", "migratable", "same"] as const;

/** Only reads. Exits with 1 where an actor is blocked; one that was set aside before is for its own command, and holds up no deploy. Throws `argument_invalid`, `machine_invalid`, `module_unloadable`. */
export async function upgradeCheckCommand(options: UpgradeCheckOptions, screen: Screen): Promise<Result> {
  const machines = await machinesFor(options);
  screen.bar.update("folding every unfinished actor");
  const reports = checkUpgrade({ root: options.root, machines });
  const totals = Object.fromEntries(VERDICTS.map((verdict) => [verdict, reports.filter((report) => report.verdict === verdict).length]));
  const blocked = totals.blocked ?? 0;
  return {
    exit: blocked > 0 ? EXIT.failed : EXIT.done,
    document: {
      ok: blocked === 0,
      machines: machines.map(({ id, config }) => ({ id, version: (config as { version?: string }).version ?? null })),
      totals,
      actors: reports.map(({ code = null, reason = null, path = null, ...report }) => ({ ...report, code, reason, path })),
    },
    lines: [
      ...(reports.length === 0 ? ["No actor is unfinished: any machine will do."] : lines(reports, totals, screen)),
      ...(options.machines === undefined && reports.some(({ code }) => code === "machine_unknown")
        ? ["For machines of another program, name the file that exports them: --machines FILE"]
        : []),
    ],
  };
}

function lines(reports: readonly UpgradeReport[], totals: Readonly<Record<string, number>>, screen: Screen): string[] {
  const name = naming(screen);
  // What needs somebody first.
  const sorted = VERDICTS.flatMap((verdict) => reports.filter((report) => report.verdict === verdict));
  const shown = sorted.slice(0, SHOWN).map((report) => row(report, name));
  const count = (verdict: (typeof VERDICTS)[number], style: "red" | "yellow" | "green") => {
    const text = `${countOf(totals[verdict] ?? 0)} ${verdict}`;
    return (totals[verdict] ?? 0) > 0 ? screen.style(style, text) : text;
  };
  return [
    ...listLines(["ACTOR", "VERSION", "VERDICT", "WHERE"], shown, screen),
    ...(sorted.length > SHOWN ? [`… and ${countOf(sorted.length - SHOWN)} more; --json has all`] : []),
    "",
    `${countOf(reports.length)} unfinished: ${count("same", "green")}, ${count("migratable", "yellow")}, ${count("blocked", "red")}${(totals.quarantined ?? 0) > 0 ? `, ${count("quarantined", "yellow")}` : ""}`,
  ];
}

function row({ actor, from, to, verdict, code, reason, path }: UpgradeReport, name: Naming): Listed {
  return {
    item: {},
    cells: [name(actor), to === null || to === from ? from : `${from} → ${to}`, verdict, path ?? ""],
    notes: code === undefined ? [] : [oneLine(`${code}: ${reason ?? ""}`)],
  };
}
