/** Promises of the survey backend: honest steps, totals that the system's tools agree with, gates. */

import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { StepReport } from "../../src/agent/backend.ts";
import { readSurveyTotals, type SurveyMoment, surveyBackend } from "../../src/backend/survey.ts";
import { Driver, world } from "./survey/driver.ts";
import { counted, folder, manyFiles, reportPath, survey } from "./survey/folder.ts";

const remaining = (reports: readonly StepReport[]) => reports.map((report) => report.remainingSteps);

describe("steps", () => {
  test("an empty folder takes a walk, an empty read and a report", async () => {
    const root = folder();
    const { driver, totals } = await survey(root);
    expect(driver.calls).toEqual(["list", "report"]);
    expect(remaining(driver.reports)).toEqual([2, 1, 0]);
    expect(totals).toMatchObject({ files: 0, bytes: 0, lines: 0 });
  });

  test.each([
    [1, 3],
    [2, 4],
    [3, 4],
    [40, 4],
    [41, 16],
    [1_000, 22],
  ])("%i files take %i steps, and each step says exactly how many are left", async (files, steps) => {
    const { driver } = await survey(folder(manyFiles(files)));
    expect(remaining(driver.reports)).toEqual(Array.from({ length: steps }, (_, n) => steps - 1 - n));
    expect(driver.reports.map((report) => report.next)).toEqual([...Array(steps - 1).fill("continue"), "end"]);
  });

  test("the batch size is an option", async () => {
    const { driver } = await survey(folder(manyFiles(5)), { batchSize: 2 });
    expect(driver.reports).toHaveLength(5);
  });

  test("the end says what was found in three lines", async () => {
    const root = folder({ "a.txt": "TODO\n", "b.txt": "TODO\n" });
    const { driver } = await survey(root);
    expect(driver.reports.at(-1)).toEqual({
      next: "end",
      stopReason: "end_turn",
      remainingSteps: 0,
      text: `Surveyed 2 files, 10 bytes, 2 lines.\nFound 0 unreadable, 5 bytes of duplicates, 2 TODO or FIXME lines, 0 broken links.\nReport: ${reportPath(root)}`,
    });
  });

  test("calls are named by the file's place in the manifest, and at most 32 are in flight", async () => {
    const { driver } = await survey(folder(manyFiles(100)), { batchSize: 60 });
    expect(driver.calls).toEqual(["list", ...Array.from({ length: 100 }, (_, n) => `read:${n}`), "report"]);
    expect(driver.mostInFlight).toBe(32);
  });

  test("progress counts over the whole survey and is throttled", async () => {
    const { driver } = await survey(folder(manyFiles(50)), { batchSize: 25 });
    const done = driver.progress.map((output) => Object.values(output as object));
    expect(done).toEqual([["walk", 0, 50], ...[16, 25, 32, 48, 50].map((n) => ["read", n, 50]), ["report", 50, 50]]);
  });
});

describe("totals", () => {
  test("10,000 files count as find, cat and grep count them", async () => {
    const root = folder(manyFiles(10_000));
    const { totals, driver } = await survey(root);
    expect(totals).toMatchObject(counted(root));
    expect(totals.marks).toBe(10_000);
    expect(driver.reports).toHaveLength(22);
  });

  test("the report itself, its temporary file and excluded paths are left out, also by a relative path or through a link", async () => {
    const root = folder({ "a.txt": "a\n", "out/report.md": "old\n", "state/db": "x\n", "statement.txt": "b\n" });
    symlinkSync(root, join(dirname(root), "link"));
    const linked = join(dirname(root), "link");
    const first = await survey(linked, { report: "out/report.md", exclude: [join(linked, "state")] });
    expect(first.totals).toMatchObject({ files: 2, bytes: 4, lines: 2 });
    const second = await survey(root, { report: () => join(linked, "out/report.md"), exclude: ["state"] });
    expect(second.totals).toMatchObject({ files: 2, bytes: 4, lines: 2 });
    expect(second.report).toBe(first.report.replace("`link`", "`project`"));
  });

  test("the report's directory is created and nothing but the report is left in it", async () => {
    const root = folder({ "a.txt": "a" });
    const { totals } = await survey(root, { report: "../x/y/report.md" });
    expect(totals.report).toBe(join(dirname(root), "x/y/report.md"));
    expect(existsSync(totals.report)).toBe(true);
    expect(readdirSync(dirname(totals.report))).toEqual(["report.md"]);
  });
});

describe("gates and aborts", () => {
  test("gates are passed before each step and after each file, with counts over the whole survey", async () => {
    const moments: SurveyMoment[] = [];
    await survey(folder(manyFiles(3)), { gate: (moment) => void moments.push(moment) });
    expect(moments).toEqual([
      { at: "step", step: 1, of: null, kind: "walk" },
      { at: "step", step: 2, of: 4, kind: "read" },
      { at: "file", done: 1, total: 3 },
      { at: "file", done: 2, total: 3 },
      { at: "step", step: 3, of: 4, kind: "read" },
      { at: "file", done: 3, total: 3 },
      { at: "step", step: 4, of: 4, kind: "report" },
    ]);
  });

  test("two successive gates hold the survey at known points", async () => {
    const root = folder(manyFiles(80));
    const given = world(root);
    const reached = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const opened = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const gate = async (moment: SurveyMoment) => {
      const at = moment.at === "file" && moment.done >= 3 ? 0 : moment.at === "step" && moment.step === 4 ? 1 : undefined;
      if (at === undefined) return;
      reached[at].resolve();
      await opened[at].promise;
    };
    const driver = new Driver(given, surveyBackend({ report: reportPath(root), gate }));
    const finished = driver.finish();
    await reached[0].promise;
    expect(driver.reports).toHaveLength(1);
    opened[0].resolve();
    await reached[1].promise;
    expect(driver.reports).toHaveLength(3);
    expect(driver.calls).toHaveLength(9);
    opened[1].resolve();
    expect((await finished).next).toBe("end");
  });

  test("an abort at a gate ends the step with its reason, and no further call is started", async () => {
    const root = folder(manyFiles(40));
    const given = world(root);
    const controller = new AbortController();
    const gate = (moment: SurveyMoment) => {
      if (moment.at === "file") controller.abort(new Error("stop"));
      return moment.at === "file" ? new Promise<void>(() => {}) : undefined;
    };
    const driver = new Driver(given, surveyBackend({ report: reportPath(root), batchSize: 40, gate }), { signal: controller.signal });
    await driver.step();
    await expect(driver.step()).rejects.toThrow("stop");
    expect(driver.calls).toHaveLength(33);
    expect(driver.inFlight).toBe(0);
    await expect(driver.step()).rejects.toThrow("stop");
    expect(driver.calls).toHaveLength(33);
    const second = new Driver(given, surveyBackend({ report: reportPath(root) }));
    await second.finish();
    expect(readSurveyTotals(given.entries)).toMatchObject(counted(root));
  });
});

describe("composition", () => {
  const prepared = (options: Parameters<typeof surveyBackend>[0]) =>
    surveyBackend(options).prepare?.({
      sessionId: "s",
      turnId: "t",
      runId: "r",
      cwd: "/x",
      continuation: false,
      signal: new AbortController().signal,
    });

  test("two backends with the same options agree, and another revision changes nothing else", async () => {
    const one = await prepared({ report: "r.md" });
    expect(await prepared({ report: "/x/r.md" })).toEqual(one);
    expect(await prepared({ report: "r.md", revision: "2" })).toEqual({ ...one, composerRevision: "2" });
    expect(one).toMatchObject({
      composerId: "holdfast.survey",
      toolNames: ["list_files", "read_file", "write_report"],
      contextWindow: null,
    });
    for (const hash of ["promptHash", "toolsHash", "availabilityHash", "providerOptionsHash"] as const)
      expect(one?.[hash]).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  test("another batch size or place of the report is another set of provider options", async () => {
    const hashes = await Promise.all(
      [{ report: "r" }, { report: "r", batchSize: 3 }, { report: "s" }].map(async (o) => (await prepared(o))?.providerOptionsHash),
    );
    expect(new Set(hashes).size).toBe(3);
  });

  test.each([{ batchSize: 0 }, { batchSize: 1.5 }, { revision: "" }])("refuses %j", (wrong) => {
    expect(() => surveyBackend({ report: "r", ...wrong })).toThrow(RangeError);
  });
});

test("a report that cannot be written fails the step and leaves no temporary file", async () => {
  const root = folder({ "a.txt": "a\n" });
  mkdirSync(join(root, "report.md"));
  writeFileSync(join(root, "report.md/inside"), "");
  await expect(survey(root, { report: "report.md" })).rejects.toThrow(/write_report \(call report\) failed/);
  expect(readdirSync(root).sort()).toEqual(["a.txt", basename("report.md")]);
});
