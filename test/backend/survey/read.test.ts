/** Promises of `read_file`: exact counts of any file in bounded memory, and a result that is always small. */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonical } from "../../../src/actor/json.ts";
import type { PathText } from "../../../src/backend/survey/path.ts";
import { type FileContent, readFileTool, readResultSchema } from "../../../src/backend/survey/read.ts";
import { folder } from "./folder.ts";

async function read(root: string, path: PathText, bytes?: number): Promise<FileContent> {
  const args = readFileTool.parameters.parse({ path, bytes: bytes ?? statSync(join(root, String(path))).size });
  const signal = new AbortController().signal;
  const context = { runId: "r", callId: "c", cwd: root, signal, getBlob: () => undefined, putBlob: async () => "" };
  const result = await readFileTool.execute(args, context);
  expect(Buffer.byteLength(canonical(result))).toBeLessThan(65_536);
  return readResultSchema.parse(result) as FileContent;
}

const grepLines = (root: string, path: string) => {
  try {
    return Number(execFileSync("grep", ["-a", "-c", "", path], { cwd: root, encoding: "utf8" }));
  } catch {
    return 0; // grep's exit code for a file without lines
  }
};

test.each<[string, Uint8Array]>([
  ["empty", Buffer.alloc(0)],
  ["one newline", Buffer.from("\n")],
  ["no last newline", Buffer.from("a\nb")],
  ["carriage returns", Buffer.from("a\r\nb\r\n\r")],
  ["one NUL", Buffer.from([0])],
  ["binary with newlines", Buffer.from("\0\n\0\n\0")],
  ["binary that ends in a newline", Buffer.from("\0a\n")],
  ["invalid UTF-8", Buffer.from([0xff, 10, 0xfe])],
  ["larger than a chunk", Buffer.from("line of text\n".repeat(50_000))],
  ["exactly a chunk", Buffer.from(`${"x".repeat(262_143)}\n`)],
  ["a chunk and one", Buffer.from(`${"x".repeat(262_143)}\ny`)],
  ["a long line", Buffer.from("y".repeat(1_000_000))],
])("%s: digest, bytes and lines are exact", async (_, content) => {
  const root = folder({ file: content });
  const result = await read(root, "file");
  expect(result).toMatchObject({
    bytes: content.length,
    lines: grepLines(root, "file"),
    sha256: createHash("sha256").update(content).digest("hex"),
    changed: false,
  });
});

test("a NUL in the first 8 KiB makes a file binary, and then nothing in it is a mark or a link", async () => {
  const text = "TODO\n[a](gone)\n";
  const root = folder({ "early.md": `${text}\0`, "last.md": `${text.padEnd(8_191)}\0`, "late.md": `${text.padEnd(8_192)}\0` });
  expect(await read(root, "early.md")).toMatchObject({ binary: true, lines: 3, marks: { count: 0 }, brokenLinks: { count: 0 } });
  expect(await read(root, "last.md")).toMatchObject({ binary: true });
  expect(await read(root, "late.md")).toMatchObject({ binary: false, marks: { count: 1 }, brokenLinks: { count: 1 } });
});

test("a sparse file of 300 MB and a line of 40 MB take little memory", async () => {
  const root = folder({ sparse: "", "long.md": "" });
  truncateSync(join(root, "sparse"), 300_000_000);
  writeFileSync(join(root, "long.md"), "x [a](b) ".repeat(5_000_000));
  appendFileSync(join(root, "long.md"), " TODO");
  const before = process.memoryUsage();
  expect(await read(root, "sparse")).toMatchObject({ bytes: 300_000_000, lines: 1, binary: true });
  expect(await read(root, "long.md")).toMatchObject({ lines: 1, marks: { count: 1 }, brokenLinks: { count: 0 } });
  const after = process.memoryUsage();
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(60_000_000);
}, 30_000);

test("marks are words in upper case; a line counts once and is shown trimmed", async () => {
  const root = folder({ "a.c": "  // TODO(x): one TODO two \nTODOS todo MYTODO TODO_1\n-FIXME-\nFIXME\u00e9\n" });
  expect((await read(root, "a.c")).marks).toEqual({
    count: 3,
    shown: [
      { line: 1, text: "// TODO(x): one TODO two" },
      { line: 3, text: "-FIXME-" },
      { line: 4, text: "FIXME\u00e9" },
    ],
  });
});

test("links are resolved beside the file, in the folder, and above it", async () => {
  const root = folder({ "docs/a.md": "", "docs/b c.md": "", "top.md": "", "docs/é.md": "" });
  const good = [
    "[a](<b c.md>)",
    "[a](b%20c.md#x)",
    "[a](../top.md)",
    "[a](/top.md)",
    "[a](.)",
    "[a](../docs/)",
    "[a](é.md)",
    "[a](%C3%A9.md)",
    "[a](../../project/top.md)",
  ];
  const bad = ["[a](c.md)", "![a](/docs/top.md)", "[x]: ../gone.md 'title'", "[a](a.md/x)", "[a](b%00c)", `[a](${"n".repeat(300)})`];
  writeFileSync(join(root, "docs/a.md"), [...good, ...bad, "```", ...bad, "```", "[a](http://x/y)"].join("\n"));
  const { brokenLinks } = await read(root, "docs/a.md");
  expect(brokenLinks.shown.map(({ line, text }) => [line, text])).toEqual([
    [10, "c.md"],
    [11, "/docs/top.md"],
    [12, "../gone.md"],
    [13, "a.md/x"],
    [14, "b%00c"],
    [15, "n".repeat(200)],
  ]);
});

test("links are looked for in .md and .markdown only", async () => {
  const root = folder(Object.fromEntries(["a.md", "a.MARKDOWN", "a.txt", "md"].map((name) => [name, "[a](gone)"])));
  const counts = await Promise.all(["a.md", "a.MARKDOWN", "a.txt", "md"].map(async (name) => (await read(root, name)).brokenLinks.count));
  expect(counts).toEqual([1, 1, 0, 0]);
});

test("the worst file still gives a result below 64 KiB", async () => {
  const line = `TODO ${"\u0001".repeat(300)} [a](${"\u0001".repeat(300)})\n`;
  const result = await read(folder({ "a.md": line.repeat(500) }), "a.md");
  expect(result.marks.count).toBe(500);
  expect(result.brokenLinks.count).toBe(500);
});

test("another size than expected is a change", async () => {
  expect(await read(folder({ a: "abc" }), "a", 4)).toMatchObject({ bytes: 3, changed: true });
});

test.each<[PathText]>([
  ["/etc/passwd"],
  [".."],
  ["a/../../b"],
  ["a//b"],
  ["./a"],
  [""],
  ["a\0b"],
  ["\ud800"],
  [{ base64: "YQ==" }],
  [{ base64: "/w" }],
])("the path %j is refused", (path) => {
  expect(readFileTool.parameters.safeParse({ path, bytes: 0 }).success).toBe(false);
});

test("an abort ends a read", async () => {
  const root = folder({ a: "x" });
  const context = {
    runId: "r",
    callId: "c",
    cwd: root,
    signal: AbortSignal.abort(new Error("stop")),
    getBlob: () => undefined,
    putBlob: async () => "",
  };
  await expect(readFileTool.execute({ path: "a", bytes: 1 }, context)).rejects.toThrow("stop");
});

test("any bytes have the lines that grep counts", async () => {
  const root = folder();
  const bytes = fc.uint8Array({ maxLength: 30 }).map((array) => array.map((byte) => (byte < 90 ? 10 : byte < 95 ? 0 : byte)));
  await fc.assert(
    fc.asyncProperty(bytes, async (content) => {
      writeFileSync(join(root, "f"), content);
      expect((await read(root, "f")).lines).toBe(grepLines(root, "f"));
    }),
    { numRuns: 100 },
  );
});
