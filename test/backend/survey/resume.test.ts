/** Promises of a survey that changes processes: nothing settled is repeated, and the report is the same to the byte. */

import { readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { StepReport } from "../../../src/agent/backend.ts";
import { readSurveyTotals, surveyBackend } from "../../../src/backend/survey.ts";
import { add, Died, Driver, type World, world } from "./driver.ts";
import { folder, manyFiles, put, reportPath, survey } from "./folder.ts";

const plain = { purpose: "plain", sourceRunId: "run-1", denied: false } as const;

/** Continues a world in which a process died, as the runtime does: calls without a result become unknown. */
function takeOver(given: World, runId: string): void {
  const settled = new Set(given.entries.flatMap(({ fact, ...at }) => (fact.type === "tool.settled" ? [`${at.runId} ${fact.callId}`] : [])));
  for (const { fact, ...at } of [...given.entries]) {
    if (fact.type !== "tool.called" || settled.has(`${at.runId} ${fact.callId}`) || at.runId === runId) continue;
    add(given, at.runId, { type: "tool.unknown", callId: fact.callId, name: fact.name });
  }
}

const okCalls = ({ entries }: World) =>
  entries.flatMap(({ fact }) => (fact.type === "tool.settled" && fact.outcome.ok ? [fact.callId.replace(/~\d+$/, "")] : []));

const files = { ...manyFiles(30), "README.md": "[x](gone.md)\n", "copy.md": "[x](gone.md)\n" };

test.each([1, 2, 9, 17, 18, 33, 34])(
  "after a death at call %i a new process repeats nothing that is settled and writes the same report",
  async (k) => {
    const root = folder(files);
    const expected = await survey(root);
    unlinkSync(reportPath(root));
    const given = world(root);
    await expect(new Driver(given, surveyBackend({ report: reportPath(root) }), { dieAtCall: k }).finish()).rejects.toThrow(Died);
    takeOver(given, "run-2");
    const second = new Driver(given, surveyBackend({ report: reportPath(root) }), { runId: "run-2", continuation: plain });
    await second.finish();
    expect(readFileSync(reportPath(root), "utf8")).toBe(expected.report);
    expect(okCalls(given).sort()).toEqual([...expected.driver.calls].sort());
    expect(second.calls.every((id) => !id.includes("~"))).toBe(true);
    expect(readSurveyTotals(given.entries)).toEqual(expected.totals);
  },
);

test("a process that dies at every third call gets there in the end, each time in a new run", async () => {
  const root = folder(manyFiles(12));
  const expected = await survey(root);
  const given = world(root);
  let last: StepReport | undefined;
  for (let n = 1; n < 40 && !last; n++) {
    const options = { dieAtCall: 3, runId: `run-${n}`, ...(n > 1 && { continuation: plain }) };
    last = await new Driver(given, surveyBackend({ report: reportPath(root) }), options).finish().catch(() => undefined);
    takeOver(given, "none");
  }
  expect(last?.next).toBe("end");
  expect(readFileSync(reportPath(root), "utf8")).toBe(expected.report);
  expect(okCalls(given).sort()).toEqual([...expected.driver.calls].sort());
});

test("another batch size after a takeover changes neither the work nor the report", async () => {
  const root = folder(files);
  const expected = await survey(root);
  const given = world(root);
  const first = new Driver(given, surveyBackend({ report: reportPath(root), batchSize: 7 }));
  for (let n = 0; n < 3; n++) await first.step();
  const second = new Driver(given, surveyBackend({ report: reportPath(root), batchSize: 4 }), { runId: "run-2", continuation: plain });
  await second.finish();
  expect(second.reports.map((report) => report.remainingSteps)).toEqual([5, 4, 3, 2, 1, 0]);
  expect(readFileSync(reportPath(root), "utf8")).toBe(expected.report);
  expect(okCalls(given).sort()).toEqual([...expected.driver.calls].sort());
});

test("a written report is not written again: the turn ends with the same text", async () => {
  const root = folder(files);
  const { world: given, driver } = await survey(root);
  given.entries.pop();
  const second = new Driver(given, surveyBackend({ report: reportPath(root) }), { runId: "run-2", continuation: plain });
  expect(await second.finish()).toEqual(driver.reports.at(-1));
  expect(second.calls).toEqual([]);
});

test("a failed call is repeated in the same run under a new id", async () => {
  const root = folder(manyFiles(4));
  const given = world(root);
  let failures = 2;
  const intercept = (callId: string) =>
    callId.startsWith("read:1") && failures-- > 0 ? ({ ok: false, error: { code: "broken", message: "pipe" } } as const) : undefined;
  const driver = new Driver(given, surveyBackend({ report: reportPath(root) }), { intercept });
  await driver.step();
  await expect(driver.step()).rejects.toThrow("read_file (call read:1) failed: broken: pipe");
  await expect(driver.step()).rejects.toThrow("read_file (call read:1~2) failed");
  await driver.finish();
  expect(driver.calls).toEqual(["list", "read:0", "read:1", "read:1~2", "read:1~3", "read:2", "read:3", "report"]);
});

test("a message of the user starts a new survey, and so does a run that continues nothing", async () => {
  const root = folder({ "a.txt": "a\n" });
  const { world: given } = await survey(root);
  put(root, "b.txt", "b\n");
  add(given, "run-2", { type: "message.added", role: "user", text: "Again." });
  const again = new Driver(given, surveyBackend({ report: reportPath(root) }), { runId: "run-2", continuation: plain });
  await again.finish();
  expect(readSurveyTotals(given.entries)?.files).toBe(2);
  const third = new Driver(given, surveyBackend({ report: reportPath(root) }), { runId: "run-3" });
  await third.finish();
  expect(third.calls).toEqual(["list", "read:0", "read:1", "report"]);
});

test("a missing list of files fails the step with a clear message", async () => {
  const given = world(folder({ "a.txt": "a\n" }));
  const driver = new Driver(given, surveyBackend({ report: "r.md" }));
  await driver.step();
  given.blobs.clear();
  await expect(driver.step()).rejects.toThrow("list of files is missing");
});

test("a folder that cannot be listed fails the walk", async () => {
  const given = world(join(folder(), "gone"));
  await expect(new Driver(given, surveyBackend({ report: "r.md" })).step()).rejects.toThrow("ENOENT");
});
