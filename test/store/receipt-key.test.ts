import { createPublicKey, generateKeyPairSync } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { adoptRoot, backupRoot, restoreRoot } from "../../src/actors.ts";
import { openReceiptKey, publicKeyText } from "../../src/store/receipt-key.ts";
import { openRoot } from "../../src/store/root.ts";
import { openOwnedStore } from "../../src/store/root-store.ts";
import { temporary, thrownBy } from "./worker.ts";

const onPosix = process.platform === "win32" ? () => undefined : test;
const find = (path: string) => openRoot({ path, create: false });
const publicKey = (path: string) => publicKeyText(openReceiptKey(find(path)));
const refusal = (path: string) => thrownBy(() => openReceiptKey(find(path))).code;
const fileOf = (path: string) => join(path, "receipt-key.pem");

/** A root with a database, closed. */
function made(): { path: string; directory: string } {
  const directory = temporary();
  const path = join(directory, "root");
  openOwnedStore({ path, create: true }).release();
  return { path, directory };
}

function copied() {
  const { path: original, directory } = made();
  const key = publicKey(original);
  const path = join(directory, "copy");
  mkdirSync(path, { mode: 0o700 });
  cpSync(original, path, { recursive: true });
  return { original, path, key };
}

test("the key of a root is made when it is first asked for, belongs to this user alone, and stays", () => {
  const { path } = made();
  expect(existsSync(fileOf(path))).toBe(false);
  const before = readdirSync(path);
  const key = publicKey(path);
  expect(readdirSync(path).sort()).toEqual([...before, "receipt-key.pem"].sort());
  expect(readFileSync(fileOf(path), "utf8")).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  if (process.platform !== "win32") expect(statSync(fileOf(path)).mode & 0o777).toBe(0o600);
  expect(createPublicKey(key).asymmetricKeyType).toBe("ed25519");
  expect(publicKey(path)).toBe(key);
  const owned = openOwnedStore({ path, create: false });
  expect(publicKeyText(openReceiptKey(owned.root))).toBe(key);
  owned.release();
});

test("two roots have two keys", () => {
  expect(publicKey(made().path)).not.toBe(publicKey(made().path));
});

test("what a creator that crashed left behind is not taken for the key", () => {
  const { path } = made();
  writeFileSync(join(path, ".holdfast-0198c5a6-0000-7000-8000-000000000000.tmp"), "-----BEGIN", { mode: 0o600 });
  expect(createPublicKey(publicKey(path)).asymmetricKeyType).toBe("ed25519");
});

test("a file that holds no such key is refused and kept", () => {
  const { path } = made();
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const half = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }).toString();
  for (const text of ["", "a key", half, other, " ".repeat(20_000)]) {
    writeFileSync(fileOf(path), text, { mode: 0o600 });
    expect(refusal(path), text.slice(0, 40)).toBe("root_invalid");
    expect(readFileSync(fileOf(path), "utf8")).toBe(text);
  }
  rmSync(fileOf(path));
  mkdirSync(fileOf(path));
  expect(refusal(path)).toBe("root_invalid");
});

onPosix("a root whose key other users can read is refused, and a link is not followed", () => {
  const { path, directory } = made();
  publicKey(path);
  chmodSync(fileOf(path), 0o644);
  expect(refusal(path)).toBe("root_insecure");
  chmodSync(fileOf(path), 0o600);
  renameSync(fileOf(path), join(directory, "elsewhere"));
  symlinkSync(join(directory, "elsewhere"), fileOf(path));
  expect(refusal(path)).toBe("root_invalid");
});

test("a copy that was not adopted signs nothing; adopted as a copy it has a key of its own, adopted as the root it has the root's", () => {
  const { original, path, key } = copied();
  expect(refusal(path)).toBe("root_moved");
  const same = join(path, "..", "moved");
  cpSync(path, same, { recursive: true });
  chmodSync(same, 0o700);
  adoptRoot({ path, as: "copied" });
  expect(existsSync(fileOf(path))).toBe(false);
  expect(publicKey(path)).not.toBe(key);
  adoptRoot({ path: same, as: "moved" });
  expect(publicKey(same)).toBe(key);
  expect(publicKey(original)).toBe(key);
});

test("while an adoption is unfinished, and where it changed the id meanwhile, nothing is signed", () => {
  const { path } = copied();
  const marker = join(path, "holdfast.json");
  const text = readFileSync(marker, "utf8");
  writeFileSync(marker, JSON.stringify({ ...JSON.parse(text), adopting: "0198c5a6-0000-7000-8000-000000000000" }));
  expect(refusal(path)).toBe("root_moved");
  writeFileSync(marker, text);
  const before = find(path);
  adoptRoot({ path, as: "copied" });
  expect(thrownBy(() => openReceiptKey(before)).code).toBe("root_moved");
  expect(existsSync(fileOf(path))).toBe(false);
});

test("a backup has no key: a root that is restored from it makes a new one", () => {
  const { path, directory } = made();
  const key = publicKey(path);
  const file = join(directory, "backup.db");
  backupRoot({ path, file });
  for (const as of ["moved", "copied"] as const) {
    const restored = join(directory, as);
    restoreRoot({ file, path: restored, as });
    expect(existsSync(fileOf(restored))).toBe(false);
    expect(publicKey(restored)).not.toBe(key);
  }
  expect(readFileSync(file).includes("PRIVATE KEY")).toBe(false);
});
