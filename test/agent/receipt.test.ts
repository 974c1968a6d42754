import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bodyOf, hashOf } from "../../src/actor/journal.ts";
import { canonical, sha256 } from "../../src/actor/json.ts";
import { boundaryDigest } from "../../src/agent/boundary.ts";
import { checkReceipt, type Receipt, receiptText } from "../../src/index.ts";
import { HOLD, Play, RESUME, SEAL } from "../scenarios/play.ts";
import { continued } from "./lineage.ts";
import { codeOf, type World } from "./world.ts";

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
  if (copy.boundary) copy.boundary.digest = boundaryDigest(copy.boundary.segments);
  return sealed(copy);
}

/** The text of a receipt whose digest was computed again; a signature stays what it was. */
function sealed(given: any): string {
  const { digest: _, signature, ...rest } = given;
  return receiptText({ ...rest, digest: sha256(canonical(rest)), ...(signature ? { signature } : {}) });
}

/** The same receipt in the first form. */
function firstForm({ boundary: _, signature: __, ...given }: any): string {
  return sealed({ ...given, format: "holdfast.receipt.v1" });
}

async function unnoticed(text: string): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const changed = `${text.slice(0, index)}${String.fromCharCode(text.charCodeAt(index) ^ 1)}${text.slice(index + 1)}`;
    if ((await codeOf(() => checkReceipt(changed))) !== "receipt_invalid") found.push(index);
  }
  return found;
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
      format: "holdfast.receipt.v2",
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
    expect(await unnoticed(receiptText(await receipt()))).toEqual([]);
  });

  it.each([
    ["a missing byte", (text: string) => text.slice(0, -1)],
    ["a further byte", (text: string) => `${text} `],
    ["another form of the same JSON", (text: string) => `${JSON.stringify(JSON.parse(text))}\n`],
    ["a field more", (text: string) => text.replace("{", '{\n  "more": 1,')],
    ["a field twice", (text: string) => text.replace("{", '{\n  "format": "holdfast.receipt.v2",')],
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
    ["facts that no entry refers to", ({ claim }) => (claim.entries[0].stated = claim.entries[0].facts)],
    ["facts that are in a blob that is not there", ({ claim }) => (claim.entries[0].facts = `{"$blob":"${"0".repeat(64)}"}`)],
    ["a boundary that ends elsewhere", ({ boundary }) => boundary.segments[0].seq++],
    ["a boundary of another turn", ({ boundary }) => (boundary.segments[0].turnId = "stranger")],
    [
      "a boundary that spans two sessions",
      ({ boundary }) => boundary.segments.unshift({ ...boundary.segments[0], runId: "a", sessionId: "b" }),
    ],
    ["a boundary that names a run twice", ({ boundary }) => boundary.segments.unshift(boundary.segments[0])],
    ["no boundary", ({ boundary }) => (boundary.segments = [])],
    ["an opening for another boundary", ({ successor }) => edit(successor.entries[0], ([fact]) => (fact.source.boundary = "0".repeat(64)))],
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

  it("whose boundary does not match its digest shows it", async () => {
    const given = structuredClone(await receipt()) as any;
    given.boundary.digest = "0".repeat(64);
    expect(() => checkReceipt(sealed(given))).toThrow("its boundary does not match its digest");
  });

  it("names every run that the sealed one stands on", async () => {
    const world = await continued();
    const third = world.holdfast.run("third-run");
    expect((await third.end()).kind).toBe("completed");
    expect(boundaryOf(world.holdfast.receipt("original-run"))).toEqual(["original-run"]);
    const { world: twice } = await Play.of({
      gates: ["successor-run#1"],
      acts: [
        ...[...SEAL, "check", "begin to resume", "reach successor-run#1", "request on the successor"],
        ...["open successor-run#1", "ready", "commit", "sealed", "resume the third"],
      ] as never,
    });
    const second = twice.holdfast.receipt("third-run");
    expect(boundaryOf(second)).toEqual(["original-run", "successor-run"]);
    expect(checkReceipt(receiptText(second))).toEqual(second);
  });

  it("in the first form holds, and shows what was changed", async () => {
    const given = await receipt();
    expect(checkReceipt(firstForm(given))).toMatchObject({ format: "holdfast.receipt.v1", digest: expect.any(String) });
    expect(await codeOf(() => checkReceipt(firstForm({ ...given, turnId: "stranger" })))).toBe("receipt_invalid");
  });

  it("of a turn with a question too large for a row holds, and binds its text", async () => {
    const question = { id: "question-1", question: "Why? ".repeat(13_100) };
    const play = await Play.of({
      steps: { "original-run#1": { report: { next: "wait", interaction: question, remainingSteps: 2 } } },
      acts: [
        "start",
        "request",
        "open original-run#1",
        "ready",
        "commit",
        "sealed",
        "check",
        "begin to resume",
        "wait for the successor's question",
        "answer",
        "end of the successor",
      ],
    });
    const given = play.world.holdfast.receipt("original-run");
    expect(checkReceipt(receiptText(given))).toEqual(given);
    const large = given.seal.entries[0]?.stated ?? "";
    expect(large.length).toBeGreaterThan(65_536);
    expect(await codeOf(() => checkReceipt(forge(given, ({ seal }) => (seal.entries[0].stated = large.replace("Why", "Who")))))).toBe(
      "receipt_invalid",
    );
  });

  it("of a forger who changed nothing holds", async () => {
    const given = await receipt();
    expect(checkReceipt(forge(given, () => {}))).toEqual(given);
  });
});

describe("a signed receipt", () => {
  it("shows every changed byte, the signature's among them", async () => {
    const { receipt } = await signedReceipt();
    expect(await unnoticed(receiptText(receipt))).toEqual([]);
  });

  it("is by the key of its root, which stays the same after a restart and is private", async () => {
    const { world, receipt, publicKey, key } = await signedReceipt();
    expect(checkReceipt(receiptText(receipt), { publicKey })).toEqual(receipt);
    expect(checkReceipt(receiptText(receipt), { publicKey: createPublicKey(publicKey) })).toEqual(receipt);
    if (process.platform !== "win32") expect(statSync(key).mode & 0o777).toBe(0o600);
    await world.reopen();
    expect(world.holdfast.receipt("original-run", { signed: true })).toEqual(receipt);
    expect(world.holdfast.verify().faults).toEqual([]);
  });

  it("differs from an unsigned one by its signature alone", async () => {
    const { world, receipt } = await signedReceipt();
    const { signature, ...rest } = receipt as any;
    expect(rest).toEqual(world.holdfast.receipt("original-run"));
    expect(signature.algorithm).toBe("ed25519");
  });

  it("binds the root's id, which an unsigned one does not", async () => {
    const { receipt } = await signedReceipt();
    const other = { ...receipt, rootId: "01234567-89ab-7def-8123-456789abcdef" };
    expect(() => checkReceipt(sealed(other))).toThrow("its signature does not fit");
    const { signature: _, ...unsigned } = other as any;
    expect(checkReceipt(sealed(unsigned)).rootId).toBe(other.rootId);
  });

  it("by another key than the one that is named does not hold, however whole it is", async () => {
    const [one, other] = [await signedReceipt(), await signedReceipt()];
    expect(() => checkReceipt(receiptText(one.receipt), { publicKey: other.publicKey })).toThrow("it is signed by another key");
    const { signature: _, ...unsigned } = one.receipt as any;
    expect(() => checkReceipt(receiptText(unsigned), { publicKey: one.publicKey })).toThrow("it is not signed");
    expect(() => checkReceipt(firstForm(one.receipt), { publicKey: one.publicKey })).toThrow("it is not signed");
  });

  it.each<[string, (signature: any) => void]>([
    ["another algorithm", (signature) => (signature.algorithm = "rsa")],
    ["another form of the same signature", (signature) => (signature.value = otherBase64(signature.value))],
    ["another form of the same key", (signature) => (signature.publicKey = otherBase64(signature.publicKey))],
    ["a signature without padding", (signature) => (signature.value = signature.value.replace(/=+$/, ""))],
    ["a key of another kind", (signature) => (signature.publicKey = ecKey().export({ type: "spki", format: "der" }).toString("base64"))],
    ["a key that is none", (signature) => (signature.publicKey = "AAAA")],
    [
      "bytes behind its key",
      (signature) =>
        (signature.publicKey = Buffer.concat([Buffer.from(signature.publicKey, "base64"), Buffer.from("x")]).toString("base64")),
    ],
    ["a signature that is too short", (signature) => (signature.value = "AAAA")],
    ["more than a signature has", (signature) => (signature.more = 1)],
  ])("with %s does not hold", async (_, change) => {
    const copy = structuredClone((await signedReceipt()).receipt) as any;
    change(copy.signature);
    expect(await codeOf(() => checkReceipt(receiptText(copy)))).toBe("receipt_invalid");
  });

  it.each<[string, unknown]>([
    ["no key", "a key"],
    ["a key of another kind", ecKey()],
    ["a private key", generateKeyPairSync("ed25519").privateKey],
    ["the text of a private key", generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString()],
    ["null", null],
    ["a number", 1],
  ])("is not checked against %s", async (_, publicKey) => {
    const text = receiptText(await receipt());
    expect(await codeOf(() => checkReceipt(text, { publicKey: publicKey as string }))).toBe("argument_invalid");
  });

  it("is refused where the key is none or has been laid open, and nothing is written over it", async () => {
    const { world, key } = await signedReceipt();
    const signed = () => codeOf(() => world.holdfast.receipt("original-run", { signed: true }));
    writeFileSync(key, ecPrivateKey());
    expect(await signed()).toBe("root_invalid");
    writeFileSync(key, "");
    expect(await signed()).toBe("root_invalid");
    expect(readFileSync(key, "utf8")).toBe("");
    expect(world.holdfast.receipt("original-run")).toMatchObject({ format: "holdfast.receipt.v2" });
    rmSync(key);
  });

  it("that is not to be had makes no key", async () => {
    const { world } = await Play.of({ acts: [...SEAL] });
    expect(await codeOf(() => world.holdfast.receipt("original-run", { signed: true }))).toBe("receipt_unavailable");
    expect(statSync(keyFile(world), { throwIfNoEntry: false })).toBeUndefined();
  });
});

const keyFile = (world: World) => join(world.root, "receipt-key.pem");
const boundaryOf = (given: Receipt) => "boundary" in given && given.boundary.segments.map(({ runId }) => runId);

async function signedReceipt() {
  const { world } = await Play.of(handedOff);
  const receipt = world.holdfast.receipt("original-run", { signed: true });
  const key = keyFile(world);
  const publicKey = createPublicKey(readFileSync(key, "utf8")).export({ type: "spki", format: "pem" }).toString();
  return { world, receipt, key, publicKey };
}

/** The same bytes by a base64 text that differs in bits that mean nothing. */
function otherBase64(text: string): string {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const last = text.replace(/=+$/, "").length - 1;
  const other = `${text.slice(0, last)}${digits[digits.indexOf(text[last] as string) + 1]}${text.slice(last + 1)}`;
  expect(Buffer.from(other, "base64").equals(Buffer.from(text, "base64"))).toBe(true);
  return other;
}

function ecKey() {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
}

function ecPrivateKey(): string {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

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

  it.each<[string, string, string]>([
    ["of a run whose journal was changed", "journal_damaged", "UPDATE journal SET at_ms = 1 WHERE actor = 'run/original-run' AND seq = 2"],
    [
      "of a run that is not what it was opened as",
      "snapshot_damaged",
      "UPDATE actors SET snapshot = json_set(snapshot, '$.context.rootRunId', 'other') WHERE address = 'run/original-run'",
    ],
  ])("%s", async (_, code, sql) => {
    const { world } = await Play.of(handedOff);
    expect(world.tamper(sql)).toBe(1);
    expect(await codeOf(() => world.holdfast.receipt("original-run"))).toBe(code);
  });
});
