import { generateKeyPairSync } from "node:crypto";
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { put, temporaryFolder } from "../backend/survey/folder.ts";
import { handedOff, holdfast, holdfastProcess, PROJECT } from "./command.ts";
import { ORDER_FILE, shop } from "./shop.ts";

/** One root with a handed-off turn; each test damages a copy of it. */
const place = mkdtempSync(join(tmpdir(), "verify-"));
const original = join(place, "root");
let run = "";

beforeAll(async () => {
  const cwd = join(place, "project");
  for (const [path, content] of Object.entries(PROJECT)) put(cwd, path, content);
  ({ run } = await handedOff(original, cwd));
});
afterAll(() => rmSync(place, { recursive: true }));

function copy(): string {
  const root = join(temporaryFolder(), "root");
  cpSync(original, root, { recursive: true, preserveTimestamps: true });
  chmodSync(root, 0o700);
  return root;
}

function change(root: string, sql: string, ...values: unknown[]): void {
  const db = new Database(join(root, "holdfast.db"));
  const { changes } = db.prepare(sql).run(...values);
  db.close();
  expect(changes).toBe(1);
}

describe("holdfast verify", () => {
  it("finds nothing in a whole root", async () => {
    expect(await holdfastProcess(["verify", "--root", copy(), "--json"])).toMatchObject({
      code: 0,
      json: { ok: true, actors: 4, faults: [] },
    });
  });

  it("checks actors of other machines by their chains and rows, says how many it did not fold, and folds them with --machines", async () => {
    const root = await shop();
    const verified = await holdfast(["verify", "--root", root, "--json"]);
    expect(verified).toMatchObject({ code: 0, json: { ok: true, actors: 4, unfolded: 4, faults: [] } });
    const told = (await holdfast(["verify", "--root", root])).stdout;
    expect(told).toContain("4 not folded: no machine order here; name the file that exports it: --machines FILE");
    const folded = ["verify", "--root", root, "--machines", ORDER_FILE];
    expect(await holdfast([...folded, "--json"])).toMatchObject({ code: 0, json: { ok: true, actors: 4, unfolded: 0, faults: [] } });
    change(root, "UPDATE actors SET snapshot = replace(snapshot, '5', '6') WHERE address = ?", "order/order-open");
    expect((await holdfast(["verify", "--root", root, "--json"])).code).toBe(0);
    expect(await holdfast([...folded, "--json"])).toMatchObject({ code: 1, json: { faults: [{ code: "snapshot_damaged" }] } });
    change(root, "UPDATE journal SET facts = '[1]' WHERE actor = ? AND seq = 1", "order/order-open");
    expect(await holdfast(["verify", "--root", root, "--json"])).toMatchObject({
      code: 1,
      json: { unfolded: 4, faults: [{ code: "journal_damaged", actor: "order/order-open" }] },
    });
    const adopted = await holdfast(["adopt", "--moved", "--root", root]);
    expect(adopted.stdout).toContain(`verify --root ${root} --machines FILE`);
  });

  it.each([
    {
      what: "a changed byte in a journal row's event",
      damage: (root: string) =>
        change(
          root,
          "UPDATE journal SET event = replace(event, 'README.md', 'READMe.md') WHERE actor = ? AND facts LIKE '%tool.called%' AND event LIKE '%README.md%'",
          `run/${run}`,
        ),
    },
    {
      what: "a changed byte in a journal row's facts",
      damage: (root: string) =>
        change(
          root,
          "UPDATE journal SET facts = replace(facts, 'run.dispatched', 'run.dispatchee') WHERE actor = ? AND facts LIKE '%run.dispatched%'",
          `run/${run}`,
        ),
    },
    {
      what: "a changed byte in a journal row's hash",
      damage: (root: string) =>
        change(
          root,
          "UPDATE journal SET hash = iif(substr(hash, 1, 1) = '0', '1', '0') || substr(hash, 2) WHERE actor = ? AND seq = 2",
          `run/${run}`,
        ),
    },
    {
      what: "a changed snapshot",
      damage: (root: string) =>
        change(root, `UPDATE actors SET snapshot = replace(snapshot, '"stepsTaken":', '"stepsTaken":1') WHERE address = ?`, `run/${run}`),
    },
    {
      what: "a changed state",
      damage: (root: string) => change(root, "UPDATE actors SET state = 'completed' WHERE address = ?", `run/${run}`),
    },
    {
      what: "a missing row in the middle of a journal",
      damage: (root: string) => change(root, "DELETE FROM journal WHERE actor = ? AND seq = 3", `run/${run}`),
    },
    {
      what: "a missing last row of a journal",
      damage: (root: string) =>
        change(root, "DELETE FROM journal WHERE position = (SELECT max(position) FROM journal WHERE actor = ?)", `run/${run}`),
    },
    {
      what: "a missing actor",
      damage: (root: string) => change(root, "DELETE FROM actors WHERE address = ?", `run/${run}`),
    },
  ])("finds $what, names the actor, and exits 1", async ({ damage }) => {
    const root = copy();
    damage(root);
    const verified = await holdfast(["verify", "--root", root, "--json"]);
    expect(verified).toMatchObject({ code: 1, json: { ok: false } });
    expect(Object.keys(verified.json)).toEqual(["ok", "actors", "unfolded", "faults"]);
    const named = verified.json.faults.filter((fault: { actor: string | null }) => fault.actor === `run/${run}`);
    expect(named.length).toBeGreaterThan(0);
    for (const fault of verified.json.faults) expect(Object.keys(fault)).toEqual(["code", "actor", "seq", "message"]);
    const shown = await holdfast(["verify", "--root", root]);
    expect(shown.code).toBe(1);
    expect(shown.stdout).toContain(`run/${run}`);
  });

  it("finds each changed byte of a receipt, sampled over the file, names the run, and exits 1", async () => {
    const root = copy();
    const path = join(temporaryFolder(), "receipt.json");
    expect((await holdfastProcess(["receipt", run, "--root", root, "--out", path])).code).toBe(0);
    const bytes = readFileSync(path);
    for (let sample = 0; sample < 8; sample++) {
      const at = Math.floor((bytes.length * sample) / 8);
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      writeFileSync(path, changed);
      const verified = await holdfast(["verify", "--receipt", path, "--json"]);
      expect(verified, `byte ${at}`).toMatchObject({ code: 1, json: { ok: false, faults: [{ code: "receipt_invalid", seq: null }] } });
      expect(verified.json.faults[0].actor).toBe(`run/${run}`);
    }
  });

  it("checks a signed receipt against the key of its root, which is printed for others, and against no other", async () => {
    const root = copy();
    // As a copy that was adopted, for one that was not signs nothing.
    expect((await holdfast(["receipt", run, "--root", root, "--sign", "--json"])).json.error.code).toBe("root_moved");
    await holdfast(["adopt", "--copied", "--root", root]);
    const [path, plain, key, strange] = ["signed.json", "plain.json", "key.pem", "strange.pem"].map((name) =>
      join(temporaryFolder(), name),
    ) as [string, string, string, string];
    const signed = await holdfast(["receipt", run, "--root", root, "--sign", "--out", path]);
    expect(signed).toMatchObject({ code: 0, stdout: expect.stringContaining("Signed   by the key ") });
    await holdfast(["receipt", run, "--root", root, "--out", plain]);
    expect((await holdfast(["receipt", "--public-key", "--root", root, "--out", key])).stdout).toContain(key);
    const printed = await holdfast(["receipt", "--public-key", "--root", root]);
    expect(printed).toMatchObject({ code: 0, stdout: readFileSync(key, "utf8") });
    const { signature } = JSON.parse(readFileSync(path, "utf8"));
    expect(printed.stdout).toContain(signature.publicKey);
    const verify = (file: string, ...options: string[]) => holdfast(["verify", "--receipt", file, ...options, "--json"]);
    expect(await verify(path, "--public-key", key)).toMatchObject({
      code: 0,
      json: { ok: true, signedBy: signature.publicKey, keyGiven: true },
    });
    expect(await verify(path)).toMatchObject({ code: 0, json: { ok: true, signedBy: signature.publicKey, keyGiven: false } });
    expect(await verify(plain)).toMatchObject({ code: 0, json: { ok: true, signedBy: null } });
    expect(await verify(plain, "--public-key", key)).toMatchObject({ code: 1, json: { faults: [{ code: "receipt_invalid" }] } });
    writeFileSync(strange, generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }));
    expect(await verify(path, "--public-key", strange)).toMatchObject({ code: 1, json: { faults: [{ code: "receipt_invalid" }] } });
    const told = await holdfast(["verify", "--receipt", plain]);
    expect(told.stdout).toContain("not signed");
  });

  it.each([
    { args: ["verify", "--public-key", "key.pem"], path: "--public-key" },
    { args: ["verify", "--receipt", "README.md", "--public-key", "no-such-file"], path: "--public-key" },
    { args: ["verify", "--receipt", "README.md", "--public-key", "README.md"], path: "--public-key" },
    { args: ["receipt"], path: "RUN" },
    { args: ["receipt", "some-run", "--public-key"], path: "--public-key" },
    { args: ["receipt", "--sign", "--public-key"], path: "--public-key" },
  ])("refuses $args, which does not say what is meant", async ({ args, path }) => {
    const cwd = join(place, "project");
    expect(await holdfast([...args, "--root", original, "--json"], { cwd })).toMatchObject({
      code: 2,
      json: { error: { code: "argument_invalid", details: { path } } },
    });
  });

  it("reads a damaged root as far as it goes: ls and show still work", async () => {
    const root = copy();
    change(root, "UPDATE actors SET snapshot = 'x' WHERE address = ?", `run/${run}`);
    change(root, "UPDATE journal SET event = 'x' WHERE actor = ? AND seq = 3", `run/${run}`);
    const listed = await holdfast(["ls", "--root", root]);
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("snapshot_damaged") });
    const shown = await holdfast(["show", run, "--root", root]);
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("damaged: not JSON") });
  });
});
