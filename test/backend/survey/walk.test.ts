/** Promises of the walk: what counts as a file of the folder, and in which order. */

import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { decodePath } from "../../../src/backend/survey/path.ts";
import { listFiles, type Manifest } from "../../../src/backend/survey/walk.ts";
import type { SurveyMoment } from "../../../src/backend/survey.ts";
import { counted, folder, put, reportPath, type Surveyed, sectionOf, survey } from "./folder.ts";

const linux = process.platform === "linux";

function manifestOf({ world }: Surveyed): Manifest {
  const [manifest] = [...world.blobs.values()];
  return JSON.parse(Buffer.from(manifest ?? []).toString("utf8"));
}

/** Runs `change` once, before the first read step. */
const beforeReads = (change: () => void) => (moment: SurveyMoment) => {
  if (moment.at === "step" && moment.step === 2) change();
};

test("directories named .git and node_modules are skipped at any depth, files of these names are not", async () => {
  const root = folder({
    "a/.git/x": "1",
    "a/b/node_modules/x/y": "1",
    ".git/x": "1",
    "c/.git": "gitdir\n",
    "d/node_modules": "1\n",
    "a/.gitignore": "x\n",
  });
  const { totals } = await survey(root);
  expect(totals).toMatchObject({ files: 3, bytes: 11, lines: 3 });
  expect(totals).toMatchObject(counted(root));
});

test("symbolic links are not followed, also where they make a loop, but the folder may be one", async () => {
  const root = folder({ "a/b.txt": "b\n" });
  symlinkSync("..", join(root, "a/up"));
  symlinkSync("b.txt", join(root, "a/link.txt"));
  symlinkSync("nowhere", join(root, "dangling"));
  symlinkSync("self", join(root, "self"));
  symlinkSync(root, join(dirname(root), "here"));
  const { totals, report } = await survey(join(dirname(root), "here"), { report: reportPath(root) });
  expect(totals).toMatchObject({ files: 1, bytes: 2, lines: 1, unreadable: 0 });
  expect(report).toMatch(/^# Survey of `here`\n/);
});

test("pipes and sockets are neither opened nor counted", async () => {
  const root = folder({ "a.txt": "a" });
  execFileSync("mkfifo", [join(root, "pipe")]);
  const server = createServer().listen(join(root, "socket"));
  onTestFinished(() => void server.close());
  const { totals } = await survey(root);
  expect(totals).toMatchObject({ ...counted(root), files: 1, lines: 1, unreadable: 0 });
});

test.runIf(linux)("names are any bytes: each is found, read and shown so that no two look alike", async () => {
  const root = folder();
  const names = [
    "with space",
    "new\nline",
    "tab\t",
    "é",
    "e\u0301",
    "日本.txt",
    "😀",
    "pipe|",
    "tick`s",
    "back\\slash",
    "-n",
    "\u202egnp.exe",
    " ",
  ].map((n) => Buffer.from(n));
  names.push(Buffer.from([0xff, 0xfe]), Buffer.from([0x61, 0xe9, 0x2e, 0x74]), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from("\\xff"));
  for (const name of names) writeFileSync(Buffer.concat([Buffer.from(`${root}/`), name]), name);
  mkdirSync(Buffer.concat([Buffer.from(`${root}/d`), Buffer.from([0x80])]));
  writeFileSync(Buffer.concat([Buffer.from(`${root}/d`), Buffer.from([0x80]), Buffer.from("/x.ü")]), "TODO deep\n");
  const done = await survey(root);
  expect(done.totals).toMatchObject({ ...counted(root), files: names.length + 1, unreadable: 0 });
  const paths = manifestOf(done).files.map((file) => file.path);
  expect(paths).toContainEqual({ base64: "//4=" });
  expect(paths).toContain("new\nline");
  const bytes = paths.map((path) => Buffer.from(decodePath(path), "latin1"));
  expect(bytes).toEqual([...bytes].sort(Buffer.compare));
  expect(sectionOf(done.report, "TODO and FIXME")).toEqual(["- `d\\x80/x.ü:1` `TODO deep`"]);
  expect(done.report.isWellFormed()).toBe(true);
});

test("the manifest is in byte order of the whole path, whatever the order on disk", async () => {
  const done = await survey(folder({ "a/b": "", "a-b": "", "a.b": "", a0: "", B: "", é: "", "a/c/d": "", "\u{1f600}": "", "\uffee": "" }));
  expect(manifestOf(done).files.map((file) => file.path)).toEqual(["B", "a-b", "a.b", "a/b", "a/c/d", "a0", "é", "\uffee", "\u{1f600}"]);
});

test("two hundred levels are no depth, and what is too deep for the system is listed as unreadable", async () => {
  const root = folder();
  const levels = Array(200).fill("d").join("/");
  put(root, `${levels}/x`, "x\n");
  expect((await survey(root)).totals).toMatchObject({ ...counted(root), files: 1 });
  const script = `i=0; n=$(printf 'n%.0s' $(seq 240)); while [ $i -lt 20 ]; do echo x > f; mkdir $n; cd $n 2>/dev/null || exit 0; i=$((i+1)); done`;
  execFileSync("sh", ["-c", script], { cwd: root });
  const { totals, report } = await survey(root);
  expect(totals.unreadable).toBeGreaterThan(0);
  expect(totals.files).toBeGreaterThan(10);
  expect(sectionOf(report, "Unreadable").join()).toContain("path too long (`ENAMETOOLONG`)");
});

test("files that vanish, become a link, a directory or a pipe, or change after the walk do not end the survey", async () => {
  const root = folder({ gone: "1", link: "1", directory: "1", pipe: "1", "d/inner": "1", grown: "1\n", shrunk: "22\n", same: "1\n" });
  const outside = join(dirname(root), "outside");
  put(outside, "inner", "secret TODO\n");
  const gate = beforeReads(() => {
    for (const name of ["gone", "link", "directory", "pipe"]) unlinkSync(join(root, name));
    symlinkSync(join(outside, "inner"), join(root, "link"));
    mkdirSync(join(root, "directory"));
    execFileSync("mkfifo", [join(root, "pipe")]);
    renameSync(join(root, "d"), join(root, "was-d"));
    symlinkSync(outside, join(root, "d"));
    writeFileSync(join(root, "grown"), "1\n2\n3");
    writeFileSync(join(root, "shrunk"), "");
  });
  const { totals, report } = await survey(root, { gate });
  expect(totals).toMatchObject({ files: 3, bytes: 7, lines: 4, unreadable: 5, marks: 0 });
  expect(sectionOf(report, "Unreadable")).toEqual([
    "- `d/inner`: a symbolic link took its place (`symbolic_link`)",
    "- `directory`: not a regular file any more (`not_regular`)",
    "- `gone`: vanished (`ENOENT`)",
    "- `link`: a symbolic link took its place (`symbolic_link`)",
    "- `pipe`: not a regular file any more (`not_regular`)",
  ]);
  expect(sectionOf(report, "Changed during the survey")).toEqual([
    "- `grown`: counted as read, 5 bytes",
    "- `shrunk`: counted as read, 0 bytes",
  ]);
});

test("what the user may not read is listed as unreadable", async () => {
  const root = folder({ "a.txt": "a\n", "shut/b.txt": "b\n", "c.txt": "c\n" });
  execFileSync("chmod", ["000", join(root, "shut"), join(root, "c.txt")]);
  onTestFinished(() => void execFileSync("chmod", ["700", join(root, "shut")]));
  // Root may read all. The survey then runs as another user, in a process of its own that has loaded everything before it changes:
  // the checkout may lie where only root can read it.
  const script = `
    import { surveyBackend } from "${join(import.meta.dirname, "../../../src/backend/survey.ts")}";
    import { Driver, world } from "${join(import.meta.dirname, "driver.ts")}";
    if (process.getuid?.() === 0) {
      process.setgroups([]);
      process.setgid(65534);
      process.setuid(65534);
    }
    await new Driver(world(process.argv[1]), surveyBackend({ report: process.argv[2] })).finish();`;
  const out = join(dirname(root), "out");
  mkdirSync(out);
  execFileSync("chmod", ["777", dirname(root), out, root]);
  const node = process.execPath;
  const probe = () => execFileSync(node, ["--input-type=module", "-e", script, root, join(out, "report.md")], { cwd: "/", stdio: "pipe" });
  probe();
  expect(sectionOf(readFileSync(join(out, "report.md"), "utf8"), "Unreadable")).toEqual([
    "- `c.txt`: permission denied (`EACCES`)",
    "- `shut`: permission denied (`EACCES`)",
  ]);
});

test("a directory that vanishes during the walk is an entry, not an error", async () => {
  const root = folder({ "a/x": "1" });
  const blobs: Uint8Array[] = [];
  const context = {
    runId: "r",
    callId: "c",
    cwd: root,
    getBlob: () => undefined,
    putBlob: async (bytes: Uint8Array) => String(blobs.push(bytes)),
  };
  const signal = { throwIfAborted: () => rmSync(join(root, "a"), { recursive: true, force: true }) } as AbortSignal;
  expect(await listFiles.execute({ exclude: [] }, { ...context, signal })).toMatchObject({ files: 0, unreadable: 1 });
  expect(JSON.parse(Buffer.from(blobs[0] ?? []).toString())).toEqual({ files: [], unreadable: [{ path: "a", code: "ENOENT" }] });
});

test("what an excluded directory holds is left out under every name, and the folder itself where it lies in one", async () => {
  const root = folder({ "kept.txt": "a\n", "state/owner.db": "lock\n", "state/inner/x.txt": "b\n" });
  linkSync(join(root, "state/owner.db"), join(root, "another-name"));
  const list = async (cwd: string) => {
    const context = {
      runId: "r",
      callId: "c",
      cwd,
      signal: new AbortController().signal,
      putBlob: async () => "",
      getBlob: () => undefined,
    };
    return listFiles.execute({ exclude: [join(root, "state")] }, context);
  };
  expect(await list(root)).toMatchObject({ files: 1, bytes: 2 });
  expect(await list(join(root, "state"))).toMatchObject({ files: 0 });
  expect(await list(join(root, "state/inner"))).toMatchObject({ files: 0 });
});

test.skipIf(!linux)("a report that has no place ends the run instead of trying for ever", async () => {
  const root = folder({ "a.txt": "a\n" });
  await expect(survey(root, { report: "/proc/nowhere/report.md" })).rejects.toThrow(/ENOENT/);
});
