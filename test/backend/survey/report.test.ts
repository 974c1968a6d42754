/** Promises of the report: its sections, their order and bounds, and that no name disturbs it. */

import { describe, expect, test } from "vitest";
import { cell, code, quote } from "../../../src/backend/survey/markdown.ts";
import { decodePath, encodePath, type PathText, showPath } from "../../../src/backend/survey/path.ts";
import type { FileContent } from "../../../src/backend/survey/read.ts";
import { composeReport } from "../../../src/backend/survey/report.ts";
import { folder, sectionOf, survey } from "./folder.ts";

const none = { count: 0, shown: [] };
const content = (given: Partial<FileContent>): FileContent => ({
  sha256: "0".repeat(64),
  bytes: 0,
  lines: 0,
  binary: false,
  changed: false,
  marks: none,
  brokenLinks: none,
  ...given,
});

function compose(files: readonly (Partial<FileContent> & { path: PathText })[], unreadable: { path: PathText; code: string }[] = []) {
  const manifest = { files: files.map(({ path }) => ({ path, bytes: 0 })), unreadable };
  const results = files.map(({ path: _, ...rest }) => content(rest));
  return composeReport("project", manifest, results);
}

test("a survey's report, whole", async () => {
  const root = folder({
    "README.md": "# A\n[gone](gone.md) [here](src/a.ts)\n",
    "src/a.ts": "// TODO: one\nsame\n",
    "src/b.TS": "// TODO: one\nsame\n",
    ".gitignore": "x\n",
    "bin/tool": "\0\n",
    "empty.txt": "",
    "empty2.txt": "",
  });
  const { report } = await survey(root);
  expect(report).toMatchInlineSnapshot(`
    "# Survey of \`project\`

    | Total | Count |
    | --- | ---: |
    | Files | 7 |
    | Bytes | 77 |
    | Lines | 8 |
    | Unreadable files and directories | 0 |
    | Bytes wasted on duplicates | 18 |
    | Lines with TODO or FIXME | 2 |
    | Broken links | 1 |

    ## Unreadable

    None.

    ## By extension

    | Extension | Files | Bytes | Lines |
    | --- | ---: | ---: | ---: |
    | \`.md\` | 1 | 37 | 2 |
    | \`.ts\` | 2 | 36 | 4 |
    | \`(none)\` | 2 | 4 | 2 |
    | \`.txt\` | 2 | 0 | 0 |

    ## Largest files

    | File | Bytes | Lines |
    | --- | ---: | ---: |
    | \`README.md\` | 37 | 2 |
    | \`src/a.ts\` | 18 | 2 |
    | \`src/b.TS\` | 18 | 2 |
    | \`.gitignore\` | 2 | 1 |
    | \`bin/tool\` | 2 | 1 |
    | \`empty.txt\` | 0 | 0 |
    | \`empty2.txt\` | 0 | 0 |

    ## Duplicate files

    - 2 files of 18 bytes, 18 bytes wasted:
      - \`src/a.ts\`
      - \`src/b.TS\`

    ## TODO and FIXME

    - \`src/a.ts:1\` \`// TODO: one\`
    - \`src/b.TS:1\` \`// TODO: one\`

    ## Broken links

    - \`README.md:2\` \`gone.md\`
    "
  `);
});

test("extensions are in lower case and sorted by bytes, then by name", () => {
  const { text } = compose([
    { path: "a.TXT", bytes: 5, lines: 1 },
    { path: "d/b.txt", bytes: 1, lines: 2 },
    { path: "c.b", bytes: 9 },
    { path: "c.a", bytes: 9 },
    { path: "x.tar.gz", bytes: 1 },
    { path: "dot.", bytes: 0 },
    { path: "v1.2/.env", bytes: 0 },
  ]);
  expect(sectionOf(text, "By extension").slice(2)).toEqual([
    "| `.a` | 1 | 9 | 0 |",
    "| `.b` | 1 | 9 | 0 |",
    "| `.txt` | 2 | 6 | 3 |",
    "| `.gz` | 1 | 1 | 0 |",
    "| `(none)` | 2 | 0 | 0 |",
  ]);
});

test("the ten largest files, ties by path", () => {
  const { text } = compose(Array.from({ length: 12 }, (_, n) => ({ path: `f${String.fromCharCode(108 - n)}`, bytes: n < 2 ? 1 : 7 })));
  expect(sectionOf(text, "Largest files").slice(2)).toEqual([..."abcdefghij"].map((letter) => `| \`f${letter}\` | 7 | 0 |`));
});

test("duplicates are grouped by content, the most wasteful first, and empty files are none", () => {
  const files = [
    { path: "a", sha256: "1", bytes: 2 },
    { path: "b", sha256: "2", bytes: 5 },
    { path: "c", sha256: "1", bytes: 2 },
    { path: "d", sha256: "2", bytes: 5 },
    { path: "e", sha256: "1", bytes: 2 },
    { path: "f", sha256: "3", bytes: 0 },
    { path: "g", sha256: "3", bytes: 0 },
    { path: "h", sha256: "4", bytes: 9 },
  ];
  const { text, totals } = compose(files);
  expect(totals.duplicateBytes).toBe(9);
  expect(sectionOf(text, "Duplicate files")).toEqual([
    "- 2 files of 5 bytes, 5 bytes wasted:",
    "  - `b`",
    "  - `d`",
    "- 3 files of 2 bytes, 4 bytes wasted:",
    "  - `a`",
    "  - `c`",
    "  - `e`",
  ]);
});

describe("bounds", () => {
  test("long lists end with what they left out", () => {
    const unreadable = Array.from({ length: 1_500 }, (_, n) => ({ path: `u${n}`, code: "EIO" }));
    const shown = Array.from({ length: 50 }, (_, n) => ({ line: n + 1, text: "TODO" }));
    const files = Array.from({ length: 1_100 }, (_, n) => ({
      path: `f${n}.e${n}`,
      bytes: 1,
      sha256: `${n >> 1}`,
      marks: { count: 60, shown },
    }));
    const { text, totals } = compose(files, unreadable);
    expect(totals.marks).toBe(66_000);
    expect(sectionOf(text, "Unreadable").slice(-2)).toEqual(["", "and 500 more"]);
    expect(sectionOf(text, "TODO and FIXME")).toHaveLength(1_002);
    expect(sectionOf(text, "TODO and FIXME").at(-1)).toBe("and 65000 more");
    expect(sectionOf(text, "By extension").at(-1)).toBe("and 100 more");
    expect(sectionOf(text, "Duplicate files").at(-1)).toBe("and 450 more");
  });

  test("a large group of copies is cut too", () => {
    const lines = sectionOf(compose(Array.from({ length: 30 }, (_, n) => ({ path: `f${n}`, bytes: 1 }))).text, "Duplicate files");
    expect(lines).toHaveLength(12);
    expect(lines.at(-1)).toBe("  - and 20 more");
  });
});

test("nothing found is said so", () => {
  const { text } = compose([]);
  for (const title of ["Unreadable", "By extension", "Largest files", "Duplicate files", "TODO and FIXME", "Broken links"]) {
    expect(sectionOf(text, title)).toEqual(["None."]);
  }
  expect(text).not.toContain("Changed");
});

test("a missing result is an error", () => {
  expect(() => composeReport("x", { files: [{ path: "a", bytes: 0 }], unreadable: [] }, [])).toThrow("no result");
});

test.each([
  ["plain", "`plain`"],
  ["a`b", "``a`b``"],
  ["`a``", "``` `a`` ```"],
  [" a", "`  a `"],
  ["a\nb\r\t\u001b[31m", "`a\\nb\\r\\t\\u{1b}[31m`"],
  ["a\\nb", "`a\\nb`"],
  ["\u202eabc\u2028", "`\\u{202e}abc\\u{2028}`"],
  ["<b>&amp;", "`<b>&amp;`"],
])("the text %j is shown as %s", (name, shown) => {
  expect(quote(name)).toBe(shown);
});

test("a pipe does not end a cell", () => {
  expect(cell("a|b")).toBe("`a\\|b`");
  expect(code("a|b")).toBe("`a|b`");
});

test("every path has one form in JSON and comes back from it", () => {
  for (const bytes of [[0x61], [0xc3, 0xa9], [0xc3], [0xff, 0x2f, 0x61], [0xef, 0xbb, 0xbf, 0x61], [0xed, 0xa0, 0x80]]) {
    const path = Buffer.from(bytes).toString("latin1");
    expect(decodePath(JSON.parse(JSON.stringify(encodePath(path))))).toBe(path);
  }
  expect(showPath("a\xff\xc3\xa9\\x")).toBe("a\\xff\u00e9\\\\x");
});
