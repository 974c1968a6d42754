import { describe, expect, it } from "vitest";
import { bodyOf, chainFault, hashOf, inflated, inlined, makeEntry, NO_HASH, PAYLOAD_LIMIT } from "../../src/actor/journal.ts";
import { sha256 } from "../../src/actor/json.ts";

const content = { atMs: 1000, version: "1", cause: '{"kind":"outside"}', event: '{"type":"go"}', facts: "[]", actions: "[]" };
const first = makeEntry(NO_HASH, "thing/a", 1, content);
const second = makeEntry(first.hash, "thing/a", 2, content);

describe("a chain of entries", () => {
  it("holds where each entry follows from the one before it", () => {
    expect([chainFault(NO_HASH, 1, first), chainFault(first.hash, 2, second)]).toEqual([undefined, undefined]);
  });

  it.each(Object.keys(content))("is broken where the %s of an entry is another", (column) => {
    const changed = { ...first, [column]: column === "atMs" ? 1001 : "other" };
    expect(chainFault(NO_HASH, 1, changed)).toContain("entry 1 is not what was written");
  });

  it("is broken where an entry is of another actor, or behind another entry", () => {
    expect(chainFault(NO_HASH, 1, { ...first, actor: "thing/b" })).toContain("entry 1 is not what was written");
    expect(chainFault(NO_HASH, 2, second)).toContain("does not follow from the entry before it");
  });

  it("is broken where an entry is missing, and says which one comes instead", () => {
    expect(chainFault(NO_HASH, 1, second)).toBe("entry 1 is missing; the next one found is 2");
  });

  it("is proved with the digests of its contents alone", () => {
    const body = bodyOf(content);
    expect([first.hash, second.hash]).toEqual([hashOf(NO_HASH, "thing/a", 1, body), hashOf(first.hash, "thing/a", 2, body)]);
  });

  it("is written down so that others can hold it", () => {
    // Roots of earlier releases hold these digests: to change them is to damage every root.
    expect(bodyOf(content)).toBe(sha256(JSON.stringify(Object.values(content))));
    expect(hashOf("before", "thing/a", 7, "body")).toBe(sha256('["before","thing/a",7,"body"]'));
  });
});

/** What a text becomes in its column, and the blobs that are kept for it. */
function put(text: string) {
  const blobs = new Map<string, Uint8Array>();
  const column = inlined(text, blobs);
  return { column, blobs, reader: { blob: (digest: string) => blobs.get(digest) } };
}

describe("a column", () => {
  it("holds a text up to the limit, and the digest of a longer one", () => {
    const [short, long] = ["x".repeat(65_536), "x".repeat(65_537)];
    expect(put(short)).toMatchObject({ column: short, blobs: new Map() });
    expect(put(long)).toMatchObject({ column: `{"$blob":"${sha256(long)}"}`, blobs: new Map([[sha256(long), Buffer.from(long)]]) });
  });

  it("refuses a text beyond what an entry may hold, to the character", () => {
    expect(put("x".repeat(PAYLOAD_LIMIT)).blobs.size).toBe(1);
    expect(() => put("x".repeat(PAYLOAD_LIMIT + 1))).toThrow(expect.objectContaining({ code: "payload_too_large" }));
  });

  it.each(["event", "facts", "actions"] as const)("of large %s is read back from its blob, and the others as they stand", (column) => {
    const text = JSON.stringify(["ä".repeat(70_000)]);
    const { column: reference, reader } = put(text);
    expect(inflated(reader, { ...first, [column]: reference })).toEqual({ ...first, [column]: text });
  });

  it.each([
    ["more before it", '[{"$blob":"DIGEST"}'],
    ["more behind it", '{"$blob":"DIGEST"}]'],
    ["too short a digest", '{"$blob":"d"}'],
  ])("that looks like a reference and has %s is a text like any other", (_, form) => {
    const text = form.replace("DIGEST", "d".repeat(64));
    expect(inflated({ blob: () => undefined }, { ...first, event: text }).event).toBe(text);
  });

  it.each<[string, Uint8Array | undefined]>([
    ["missing", undefined],
    ["changed", new Uint8Array([1])],
  ])("whose blob is %s is damage of its actor", (how, bytes) => {
    const event = `{"$blob":"${sha256("x")}"}`;
    expect(() => inflated({ blob: () => bytes }, { ...first, event })).toThrow(
      expect.objectContaining({ code: "journal_damaged", details: { actor: "thing/a" }, message: expect.stringContaining(how) }),
    );
  });
});
