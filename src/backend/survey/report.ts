/**
 * The report: Markdown from a manifest and the results of its reads.
 *
 * Guarantees: a pure function of what was found; no time, id or absolute path is in it, so the report of an unchanged folder is the same
 * to the byte whatever happened to the processes that made it. Every list is bounded.
 */

import { posix } from "node:path";
import { plural } from "../../agent/count.ts";
import type { Listing } from "./lines.ts";
import { andMore, cell, code, MAX_ENTRIES, quote, table } from "./markdown.ts";
import { type BytePath, decodePath, showPath } from "./path.ts";
import type { FileContent, ReadResult } from "./read.ts";
import type { Manifest } from "./walk.ts";
import type { SurveyTotals } from "./write.ts";

const LARGEST = 10;
/** Together no more than `MAX_ENTRIES` paths. */
const MAX_GROUPS = 100;
const MAX_COPIES_SHOWN = 10;

const REASONS: Record<string, string> = {
  ENOENT: "vanished",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENAMETOOLONG: "path too long",
  symbolic_link: "a symbolic link took its place",
  not_regular: "not a regular file any more",
};

interface FileRow extends FileContent {
  readonly path: BytePath;
  /** Escaped for people. */
  readonly shownPath: string;
}

export interface Report {
  readonly text: string;
  readonly totals: Omit<SurveyTotals, "report" | "digest">;
}

const sum = <T>(items: readonly T[], of: (item: T) => number) => items.reduce((total, item) => total + of(item), 0);
const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Composes the report. `folder` is the name in its heading, `results` has one result for each file of the manifest, in its order. */
export function composeReport(folder: string, manifest: Manifest, results: readonly ReadResult[]): Report {
  const files: FileRow[] = [];
  const unreadable = manifest.unreadable.map(({ path, code }) => ({ path: decodePath(path), code }));
  manifest.files.forEach((file, index) => {
    const path = decodePath(file.path);
    const result = results[index];
    if (!result) throw new Error(`The survey has no result for ${showPath(path)}.`);
    if ("unreadable" in result) unreadable.push({ path, code: result.unreadable });
    else files.push({ ...result, path, shownPath: showPath(path) });
  });
  unreadable.sort((a, b) => order(a.path, b.path));
  const groups = duplicateGroups(files);
  const totals = {
    files: files.length,
    bytes: sum(files, (file) => file.bytes),
    lines: sum(files, (file) => file.lines),
    unreadable: unreadable.length,
    duplicateBytes: sum(groups, wastedBytes),
    marks: sum(files, (file) => file.marks.count),
    brokenLinks: sum(files, (file) => file.brokenLinks.count),
  };
  const lines = [
    `# Survey of ${quote(folder)}`,
    "",
    ...table(
      ["Total", "Count"],
      [
        ["Files", totals.files],
        ["Bytes", totals.bytes],
        ["Lines", totals.lines],
        ["Unreadable files and directories", totals.unreadable],
        ["Bytes wasted on duplicates", totals.duplicateBytes],
        ["Lines with TODO or FIXME", totals.marks],
        ["Broken links", totals.brokenLinks],
      ],
    ),
    ...section("Unreadable", unreadable.slice(0, MAX_ENTRIES).map(unreadableLine), unreadable.length),
    ...changedSection(files),
    ...extensionSection(files),
    ...largestSection(files),
    ...duplicateSection(groups),
    ...placesSection("TODO and FIXME", files, (file) => file.marks),
    ...placesSection("Broken links", files, (file) => file.brokenLinks),
  ];
  return { text: `${lines.join("\n")}\n`, totals };
}

/** A heading and a list, or "None." */
function section(title: string, entries: readonly string[], total: number): string[] {
  return ["", `## ${title}`, "", ...(total === 0 ? ["None."] : entries), ...andMore(total, entries.length)];
}

function unreadableLine({ path, code: reason }: { path: BytePath; code: string }): string {
  return `- ${code(showPath(path))}: ${REASONS[reason] ?? "cannot be read"} (${quote(reason)})`;
}

function changedSection(files: readonly FileRow[]): string[] {
  const changed = files.filter((file) => file.changed);
  if (changed.length === 0) return [];
  const entries = changed.slice(0, MAX_ENTRIES).map((file) => `- ${code(file.shownPath)}: counted as read, ${plural(file.bytes, "byte")}`);
  return section("Changed during the survey", entries, changed.length);
}

/** The extension of a path's last part in lower case, with its dot; a name like `.gitignore` has none. */
function extensionOf(shownPath: string): string {
  const extension = posix.extname(shownPath).toLowerCase();
  return extension.length > 1 ? extension : "(none)";
}

function extensionSection(files: readonly FileRow[]): string[] {
  const byExtension = new Map<string, { files: number; bytes: number; lines: number }>();
  for (const file of files) {
    const name = extensionOf(file.shownPath);
    const row = byExtension.get(name) ?? { files: 0, bytes: 0, lines: 0 };
    byExtension.set(name, { files: row.files + 1, bytes: row.bytes + file.bytes, lines: row.lines + file.lines });
  }
  const sorted = [...byExtension].sort(([nameA, a], [nameB, b]) => b.bytes - a.bytes || order(nameA, nameB));
  const rows = sorted.slice(0, MAX_ENTRIES).map(([name, row]) => [cell(name), row.files, row.bytes, row.lines]);
  const lines = ["", "## By extension", "", ...(rows.length === 0 ? ["None."] : table(["Extension", "Files", "Bytes", "Lines"], rows))];
  return [...lines, ...andMore(sorted.length, rows.length)];
}

function largestSection(files: readonly FileRow[]): string[] {
  const largest = [...files].sort((a, b) => b.bytes - a.bytes || order(a.path, b.path)).slice(0, LARGEST);
  const rows = largest.map((file) => [cell(file.shownPath), file.bytes, file.lines]);
  return ["", "## Largest files", "", ...(rows.length === 0 ? ["None."] : table(["File", "Bytes", "Lines"], rows))];
}

/** Files of the same content, in the manifest's order. */
type Group = readonly [FileRow, FileRow, ...FileRow[]];

const wastedBytes = (group: Group) => group[0].bytes * (group.length - 1);

/** Groups of two or more files that are not empty; the most wasteful first. */
function duplicateGroups(files: readonly FileRow[]): Group[] {
  const byDigest = new Map<string, FileRow[]>();
  for (const file of files) {
    if (file.bytes === 0) continue;
    const same = byDigest.get(file.sha256);
    if (same) same.push(file);
    else byDigest.set(file.sha256, [file]);
  }
  const groups = [...byDigest.values()].filter((group) => group.length > 1) as unknown as Group[];
  return groups.sort((a, b) => wastedBytes(b) - wastedBytes(a) || order(a[0].path, b[0].path));
}

function duplicateSection(groups: readonly Group[]): string[] {
  const entries = groups.slice(0, MAX_GROUPS).map((group) => {
    const shown = group.slice(0, MAX_COPIES_SHOWN).map((file) => `\n  - ${code(file.shownPath)}`);
    const more = group.length > shown.length ? `\n  - and ${group.length - shown.length} more` : "";
    return `- ${plural(group.length, "file")} of ${plural(group[0].bytes, "byte")}, ${plural(wastedBytes(group), "byte")} wasted:${shown.join("")}${more}`;
  });
  return section("Duplicate files", entries, groups.length);
}

/** Lines of files, as `path:line` and the text. */
function placesSection(title: string, files: readonly FileRow[], of: (file: FileRow) => Listing): string[] {
  const entries: string[] = [];
  for (const file of files) {
    for (const { line, text } of of(file).shown.slice(0, MAX_ENTRIES - entries.length)) {
      entries.push(`- ${code(`${file.shownPath}:${line}`)} ${quote(text)}`);
    }
    if (entries.length >= MAX_ENTRIES) break;
  }
  return section(
    title,
    entries,
    sum(files, (file) => of(file).count),
  );
}
