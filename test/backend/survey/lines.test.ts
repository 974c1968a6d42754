/** Promises of the line splitter, the marks and the bounded lists. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { BoundedListing, countNewlines, LineSplitter, MAX_WHOLE_LINE_BYTES, MarkFinder } from "../../../src/backend/survey/lines.ts";

function split(chunks: readonly Buffer[]) {
  const marks = new MarkFinder();
  const lines: string[] = [];
  const splitter = new LineSplitter((piece) => {
    if (piece.first) lines.push("");
    lines[lines.length - 1] += piece.bytes.toString("latin1");
    marks.receive(piece);
  });
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  return { count: splitter.end(), lines, marks: marks.found };
}

function cut(text: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, n) => text.subarray(n * size, (n + 1) * size));
}

/** Lines with a mark, by a plain reading of the rule. */
function expectedMarks(text: string): number[] {
  return text.split("\n").flatMap((line, n) => (/(^|[^A-Za-z0-9_])(TODO|FIXME)($|[^A-Za-z0-9_])/.test(line) ? [n + 1] : []));
}

test("wherever a text is cut into chunks, its lines and marks are the same", () => {
  const word = fc.constantFrom("TODO", "FIXME", "x", "_", " ", "\n", "\n", "é", "TODOS", ":", "todo", "\r\n", "9");
  fc.assert(
    fc.property(fc.array(word, { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), (words, size) => {
      const text = words.join("");
      const { count, lines, marks } = split(cut(Buffer.from(text), size));
      const all = text.split("\n");
      expect(count).toBe(all.at(-1) === "" ? all.length - 1 : all.length);
      expect(lines.map((line) => Buffer.from(line, "latin1").toString())).toEqual(all.slice(0, count));
      expect(marks.count).toBe(expectedMarks(text).length);
      expect(marks.shown.map(({ line }) => line)).toEqual(expectedMarks(text).slice(0, 50));
    }),
    { numRuns: 2_000 },
  );
});

test.each(["TODO", "xTODO", "TODOx", " TODO ", "FIXME", "xFIXMEx", "-FIXME"])(
  "in a line of megabytes %j is judged the same at every place of a cut",
  (word) => {
    const size = MAX_WHOLE_LINE_BYTES + 10;
    for (let offset = -12; offset <= 12; offset++) {
      const before = 2 * size + offset;
      const filler = word.startsWith("x") ? "x" : " ";
      const line = Buffer.from(filler.repeat(before) + word + " ".repeat(2 * size));
      const { count, marks } = split(cut(Buffer.concat([Buffer.from("a\n"), line, Buffer.from("\nTODO last")]), size));
      expect(count).toBe(3);
      expect(marks.shown.map((shown) => shown.line)).toEqual(/^\W?(TODO|FIXME)\W?$/.test(word) ? [2, 3] : [3]);
    }
  },
);

test("a mark at the very end of a cut long line counts, and a long line is shown by its beginning", () => {
  const size = MAX_WHOLE_LINE_BYTES * 2;
  const { marks } = split([Buffer.from(`\t begin ${"x".repeat(size - 4)}`), Buffer.from(`${"y".repeat(size)} TODO`)]);
  expect(marks.count).toBe(1);
  expect(marks.shown[0]?.text).toBe(`begin ${"x".repeat(194)}`);
  const cutInside = split([Buffer.from(`${" ".repeat(size)}TODO`), Buffer.from("S")]);
  expect(cutInside.marks.count).toBe(0);
});

test("a listing holds at most 50 entries of 200 characters and 24 KiB of JSON, and counts all", () => {
  for (const text of ["\u0001", "x", "é", "😀", '"', "\\"]) {
    const listing = new BoundedListing();
    for (let line = 1; line <= 1_000; line++) listing.add(line, Buffer.from(text.repeat(2_000)));
    expect(listing.count).toBe(1_000);
    expect(listing.shown.length).toBeLessThanOrEqual(50);
    expect(listing.shown.length).toBeGreaterThan(0);
    expect([...(listing.shown[0]?.text ?? "")]).toHaveLength(200);
    expect(Buffer.byteLength(JSON.stringify(listing.toJson()))).toBeLessThan(25_000);
  }
});

test("bytes that are not UTF-8 become well-formed text", () => {
  const listing = new BoundedListing();
  listing.add(1, Buffer.from([0xff, 0xed, 0xa0, 0x80, 0x41]));
  expect(listing.shown[0]?.text.isWellFormed()).toBe(true);
});

test("newlines are counted in any bytes", () => {
  expect(countNewlines(Buffer.from("\n\na\n"))).toBe(3);
  expect(countNewlines(Buffer.alloc(10))).toBe(0);
});
