/** Promises of the Markdown link scanner. */

import { describe, expect, test } from "vitest";
import { LinkScanner, linkPath } from "../../../src/backend/survey/links.ts";

const scan = (text: string) => {
  const scanner = new LinkScanner();
  return text.split("\n").flatMap((line) => scanner.scan(line));
};

describe("targets", () => {
  test.each([
    ["[a](b.md)", ["b.md"]],
    ["![a](b.png) and [c](d.md)", ["b.png", "d.md"]],
    ["[![alt](img.png)](page.md)", ["img.png", "page.md"]],
    ["[a](<b c.md>)", ["b c.md"]],
    ["[a]( b.md )", ["b.md"]],
    ['[a](b.md "title (x)")', ["b.md"]],
    ["[a](b.md 'title') [c](<d> (t))", ["b.md", "d"]],
    ["[a](b_(c).md)", ["b_(c).md"]],
    ["[a](b\\).md)", ["b\\).md"]],
    ["[a [b] c](d.md)", ["d.md"]],
    ["[a](b c.md)", []],
    ["[a](b.md", []],
    ["\\[a](b.md)", []],
    ["a](b.md)", []],
    ["`[a](b.md)` [c](d.md)", ["d.md"]],
    ["`` `[a](b.md) `` [c](d.md)", ["d.md"]],
    ["` [c](d.md)", ["d.md"]],
    ["[`a`](b.md)", ["b.md"]],
    ["[wrapped\ntext](b.md)", ["b.md"]],
    ["[open\n\ntext](b.md)", []],
    ["[x]: b.md", ["b.md"]],
    ['  [x y]: <b c.md> "title"', ["b c.md"]],
    ["> [x]: b.md", ["b.md"]],
    ["[^1]: b.md", []],
    ["[note]: this is text", []],
    ["```\n[a](b.md)\n```\n[c](d.md)", ["d.md"]],
    ["````md\n```\n[a](b.md)\n```\n````\n[c](d.md)", ["d.md"]],
    ["~~~\n```\n[a](b)\n~~~\n[c](d.md)", ["d.md"]],
    ["- ```sh\n  [a](b.md)\n  ```\n- [c](d.md)", ["d.md"]],
    ["> ```\n> [a](b.md)\n> ```\n[c](d.md)", ["d.md"]],
    ["``` not a fence ``` [c](d.md)", ["d.md"]],
    ["```\n[a](b.md)\n``` not its end\n[c](d.md)", []],
    ["- [ ] task [a](b.md)", ["b.md"]],
    ["[a]()", [""]],
  ])("%j has %j", (text, targets) => {
    expect(scan(text)).toEqual(targets);
  });

  test("a line made to be slow is not", () => {
    for (const piece of ["[](", "[](a", "[a](<", "`a``b", "[](\\", "(".repeat(9), "[](a(", "> - "])
      scan(piece.repeat(65_536 / piece.length));
  }, 5_000);
});

describe("paths", () => {
  test.each([
    ["docs/a.md", "b.md", "docs/b.md"],
    ["docs/a.md", "../b.md#part", "b.md"],
    ["docs/a.md", "./b%20c.md?x=1#y", "docs/b c.md"],
    ["docs/a.md", "/top.md", "top.md"],
    ["docs/a.md", "/../top.md", "top.md"],
    ["a.md", "../outside.md", "../outside.md"],
    ["a.md", "b\\_c.md", "b_c.md"],
    ["a.md", "b&amp;c.md", "b&c.md"],
    ["a.md", "100%.md", "100%.md"],
    ["a.md", "%C3%A9.md", "\xc3\xa9.md"],
    ["a.md", "c++/x.md", "c++/x.md"],
    ["a.md", "#anchor", undefined],
    ["a.md", "?q", undefined],
    ["a.md", "", undefined],
    ["a.md", "https://example.org/b.md", undefined],
    ["a.md", "mailto:a@b", undefined],
    ["a.md", "//example.org/b", undefined],
    ["a.md", "data:text/plain,x", undefined],
  ])("in %j the target %j means %j", (file, target, path) => {
    expect(linkPath(file, target)).toBe(path);
  });
});
