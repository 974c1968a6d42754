import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { barText } from "../../src/cli/bar.ts";
import { countOf, cut, isoOf, oneLine, plural, quoted, shortId, timeOf, widthOf, wrap } from "../../src/cli/format.ts";
import { fields, table } from "../../src/cli/table.ts";

describe("table", () => {
  it("aligns its columns by what a terminal shows, not by length", () => {
    expect(
      table(
        ["NAME", "N"],
        [
          ["日本", "1"],
          ["ab", "2"],
          ["e\u0301", "3"],
        ],
      ),
    ).toEqual(["NAME  N", "日本  1", "ab    2", "e\u0301     3"]);
  });

  it("cuts its last column to the terminal and leaves ids whole", () => {
    expect(table(["ID", "WHY"], [["0123456789", "a long reason for it"]], 22)).toEqual(["ID          WHY", "0123456789  a long re…"]);
  });

  it("lets no foreign text disturb the terminal", () => {
    expect(table(["NAME"], [["a\u001b[31m\nb\u202e"]])).toEqual(["NAME", "a\\u{1b}[31m\\nb\\u{202e}"]);
  });

  it("bounds each cell", () => {
    expect(widthOf(table(["A", "B"], [["x".repeat(500), "y"]])[1] as string)).toBe(63);
  });
});

describe("a time", () => {
  it("that is none is told as it is", () => {
    for (const ms of [9e15, -9e15, Number.NaN]) for (const told of [isoOf(ms), timeOf(ms)]) expect(told).toBe(`damaged: ${ms}`);
  });
});

describe("quoted", () => {
  it.each(["plain/a-1:2:0", "x; touch p #", "it's", "a\u202eb\\'c", "line\u2028and\nline\u001b[31m", "größe 日本"])(
    "%j is one word of a shell, and safe",
    (text) => {
      const word = quoted(text);
      expect(oneLine(word)).toBe(word);
      const env = { ...process.env, LC_ALL: "C.UTF-8" };
      expect(execFileSync("bash", ["-c", `printf %s ${word}`], { encoding: "utf8", env })).toBe(text);
    },
  );
});

describe("fields", () => {
  it("aligns values and leaves out what is absent", () => {
    expect(
      fields(
        [
          ["a", "1"],
          ["long", null],
          ["ccc", "2"],
        ],
        "  ",
      ),
    ).toEqual(["  a    1", "  ccc  2"]);
  });
});

describe("barText", () => {
  it.each([20, 40, 80, 200])("fits in %i columns", (columns) => {
    for (const done of [0, 1, 5000, 10_000, 20_000]) expect(barText("A reading", done, 10_000, columns).length).toBeLessThan(columns);
  });

  it("is empty at the start, full at the end, and the label alone without a total", () => {
    expect(barText("reading", 0, 4, 80)).toBe(`reading  ${"░".repeat(30)}  0 / 4`);
    expect(barText("reading", 4, 4, 80)).toBe(`reading  ${"█".repeat(30)}  4 / 4`);
    expect(barText("listing", 0, 0, 80)).toBe("listing");
  });
});

describe("format", () => {
  it("counts in thousands, and in the plural", () => {
    expect(countOf(1234567)).toBe("1,234,567");
    expect([0, 1, 2].map((count) => plural(count, "file"))).toEqual(["0 files", "1 file", "2 files"]);
    expect(["crash", "journal entry", "day", "class"].map((noun) => plural(2, noun))).toEqual([
      ...["2 crashes", "2 journal entries", "2 days", "2 classes"],
    ]);
  });

  it("shortens an id to its end, where ids differ", () => {
    expect(shortId("0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e")).toBe("…5be21f6e");
    expect(shortId("order-17")).toBe("order-17");
  });

  it("cuts and wraps by width, and never breaks a word", () => {
    expect(cut("日本語", 5)).toBe("日本…");
    expect(wrap("one two three /a/very/long/path end", 9)).toEqual(["one two", "three", "/a/very/long/path", "end"]);
    expect(oneLine("x".repeat(500), 10)).toBe("xxxxxxxxx…");
  });
});
