import { describe, expect, it } from "vitest";
import { bodyOf, hashOf } from "../../src/actor/journal.ts";
import { canonical, sha256 } from "../../src/actor/json.ts";
import { checkReceipt, type Receipt, receiptText } from "../../src/index.ts";
import { HOLD, Play, RESUME, SEAL } from "../scenarios/play.ts";
import { codeOf } from "./world.ts";

const handedOff = { acts: [...SEAL, ...RESUME] } as const;

async function receipt(): Promise<Receipt> {
  return (await Play.of(handedOff)).world.holdfast.receipt("original-run");
}

/** A forger's receipt: parts changed at will, all that is computed from them computed again. */
function forge(given: Receipt, change: (copy: any) => void): string {
  const copy = structuredClone(given) as any;
  change(copy);
  for (const part of [copy.seal, copy.claim, copy.successor]) {
    let last = part.previous;
    for (const row of part.entries) last = hashOf(last, part.actor, row.seq, bodyOf(row));
    part.hash = last;
  }
  const { digest: _, ...rest } = copy;
  return receiptText({ ...rest, digest: sha256(canonical(rest)) });
}

const edit = (row: { facts: string }, change: (facts: any[]) => void) => {
  const facts = JSON.parse(row.facts);
  change(facts);
  row.facts = JSON.stringify(facts);
};

describe("a receipt", () => {
  it("is the same for the source, for the successor, and after a restart, and holds offline", async () => {
    const { world } = await Play.of(handedOff);
    const texts = [receiptText(world.holdfast.receipt("original-run")), receiptText(world.holdfast.receipt("successor-run"))];
    await world.reopen();
    texts.push(receiptText(world.holdfast.receipt("original-run")));
    expect(new Set(texts).size).toBe(1);
    expect(checkReceipt(texts[0] as string)).toMatchObject({
      format: "holdfast.receipt.v1",
      rootId: world.reader.rootId,
      sessionId: "session-1",
      turnId: "logical-turn",
      sourceRunId: "original-run",
      successorRunId: "successor-run",
    });
  });

  it("exists as soon as the successor is dispatched", async () => {
    const play = await Play.of({ gates: ["successor-run#1"], acts: [...SEAL, "check", "begin to resume", "reach successor-run#1"] });
    expect(checkReceipt(receiptText(play.world.holdfast.receipt("original-run"))).successorRunId).toBe("successor-run");
  });

  it("shows every changed byte", async () => {
    const text = receiptText(await receipt());
    const unnoticed: number[] = [];
    for (let index = 0; index < text.length; index++) {
      const changed = `${text.slice(0, index)}${String.fromCharCode(text.charCodeAt(index) ^ 1)}${text.slice(index + 1)}`;
      if ((await codeOf(() => checkReceipt(changed))) !== "receipt_invalid") unnoticed.push(index);
    }
    expect(unnoticed).toEqual([]);
  });

  it.each([
    ["a missing byte", (text: string) => text.slice(0, -1)],
    ["a further byte", (text: string) => `${text} `],
    ["another form of the same JSON", (text: string) => `${JSON.stringify(JSON.parse(text))}\n`],
    ["a field more", (text: string) => text.replace("{", '{\n  "more": 1,')],
    ["a field twice", (text: string) => text.replace("{", '{\n  "format": "holdfast.receipt.v1",')],
    ["no JSON at all", () => "a receipt"],
    ["nothing", () => ""],
    ["null", () => "null\n"],
  ])("shows %s", async (_, change) => {
    const text = receiptText(await receipt());
    expect(await codeOf(() => checkReceipt(change(text)))).toBe("receipt_invalid");
  });

  it.each<[string, (copy: any) => void]>([
    ["another successor in the seal", ({ seal }) => edit(seal.entries[0], ([fact]) => (fact.successorRunId = "stranger"))],
    ["another claim", ({ claim }) => edit(claim.entries[0], ([fact]) => (fact.claimId = "stranger"))],
    ["a claim for another entry", ({ claim }) => edit(claim.entries[0], ([fact]) => fact.source.seq++)],
    ["a seal of another run", (copy) => (copy.seal.actor = "run/stranger")],
    ["another source", (copy) => (copy.sourceRunId = "stranger")],
    ["another turn", (copy) => (copy.turnId = "stranger")],
    ["another session", (copy) => (copy.sessionId = "stranger")],
    ["an opening under another claim", ({ successor }) => edit(successor.entries[0], ([fact]) => (fact.source.claimId = "stranger"))],
    ["no dispatch", ({ successor }) => successor.entries.pop()],
    ["two dispatches", ({ successor }) => edit(successor.entries.at(-1), (facts) => facts.push({ type: "run.dispatched" }))],
    [
      "an opening that is not the first entry",
      ({ successor }) => {
        for (const row of successor.entries) row.seq++;
      },
    ],
    ["a changed entry of the seal", ({ seal }) => seal.entries[0].atMs++],
    ["facts that are no JSON", ({ seal }) => (seal.entries[0].facts = "[")],
    ["facts that are no list", ({ claim }) => (claim.entries[0].facts = "null")],
    ["a fact that is null", ({ successor }) => (successor.entries[0].facts = "[null]")],
  ])("whose forger computed all hashes again shows %s", async (_, change) => {
    const forged = forge(await receipt(), change);
    expect(await codeOf(() => checkReceipt(forged))).toBe("receipt_invalid");
  });

  it.each(["seal", "claim", "successor"] as const)(
    "whose forger computed the digest again, and not the chain of the %s, shows it",
    async (part) => {
      const { digest: _, ...rest } = await receipt();
      const [first, ...others] = rest[part].entries;
      const changed = { ...rest, [part]: { ...rest[part], entries: [{ ...first, atMs: 1 }, ...others] } };
      const text = receiptText({ ...changed, digest: sha256(canonical(changed)) } as Receipt);
      expect(() => checkReceipt(text)).toThrow("the chain does not end in its hash");
    },
  );

  it("of a forger who changed nothing holds", async () => {
    const given = await receipt();
    expect(checkReceipt(forge(given, () => {}))).toEqual(given);
  });
});

describe("no receipt is to be had", () => {
  it.each([
    ["of a run that was not handed off", ["start", "open original-run#1", "end"]],
    ["of a handoff that was cancelled", [...HOLD, "cancel", "end"]],
    ["of a run that is held", [...HOLD]],
    ["of a sealed turn that nobody has continued", [...SEAL]],
    ["of a sealed turn that was stopped", [...SEAL, "stop"]],
  ] as const)("%s", async (_, acts) => {
    const play = await Play.of({ acts });
    expect(await codeOf(() => play.world.holdfast.receipt("original-run"))).toBe("receipt_unavailable");
  });
});
