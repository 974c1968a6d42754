/** `holdfast verify`: a whole state root checked against its journals, or one receipt checked without a root. */

import type { KeyObject } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { registerAll } from "../../actor/engine.ts";
import { HoldfastError } from "../../actor/error.ts";
import type { Fault } from "../../actor/fold.ts";
import type { StoreReader } from "../../actor/store.ts";
import type { Verified } from "../../actor/verify.ts";
import { agentError } from "../../agent/error.ts";
import { checkReceipt } from "../../agent/receipt.ts";
import { publicKeyOf } from "../../agent/receipt-signature.ts";
import { verifyRoot } from "../../agent/verify.ts";
import { machinesFor } from "../acting.ts";
import { EXIT } from "../exit.ts";
import { countOf, oneLine, plural } from "../format.ts";
import type { Machine } from "../machine-file.ts";
import { withReader } from "../reading.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";

export interface VerifyOptions extends CommonOptions {
  readonly receipt?: string;
  readonly publicKey?: string;
  readonly machines?: string;
}

const RECEIPT_BYTES = 64 * 1024 * 1024;
const KEY_BYTES = 16 * 1024;

export async function verifyCommand(options: VerifyOptions, screen: Screen): Promise<Result> {
  if (options.receipt !== undefined) return verifyReceipt(resolve(options.receipt), options.publicKey, screen);
  if (options.publicKey !== undefined)
    throw agentError("argument_invalid", "--public-key: it is for checking a receipt; name that too: --receipt FILE", {
      details: { path: "--public-key" },
    });
  const machines = options.machines === undefined ? [] : await machinesFor(options);
  // Here, where it is a refusal: inside the check it would be a fault of the root.
  registerAll(machines);
  screen.bar.update("checking every row");
  const { ok, actors, unfolded, faults } = withReader(options.root, (reader) => checkAll(reader, machines));
  const document = {
    ok,
    actors,
    unfolded: Object.values(unfolded).reduce((sum, count) => sum + count, 0),
    faults: faults.map(({ code, actor, seq, message }) => ({ code, actor, seq, message })),
  };
  const told = ok
    ? [`${screen.style("green", "ok")}  ${plural(actors, "actor")}, no fault`]
    : [`${screen.style("red", plural(faults.length, "fault"))} in ${plural(actors, "actor")}`, ...faults.map(faultLine)];
  return { exit: ok ? EXIT.done : EXIT.failed, document, lines: [...told, ...unfoldedLines(unfolded, document.unfolded)] };
}

/** Machines that are named where actors were not folded; the rest are counted. */
const NAMED = 5;

function unfoldedLines(unfolded: Verified["unfolded"], count: number): string[] {
  if (count === 0) return [];
  const names = Object.keys(unfolded).sort();
  const others = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  const named = `${names.length === 1 ? "no machine" : "no machines"} ${names.slice(0, NAMED).join(", ")}${others} here`;
  const text = `${countOf(count)} not folded: ${named}; name the file that exports ${names.length === 1 ? "it" : "them"}: --machines FILE`;
  return [oneLine(text, 2000)];
}

/** A database that cannot even be walked is a fault that was found, not an error of the check. */
function checkAll(reader: StoreReader, machines: readonly Machine[]): Omit<Verified, "entries"> {
  try {
    return verifyRoot(reader, { machines, unknown: "skip" });
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const fault = { code: error.code, actor: error.details.actor ?? null, seq: null, message: error.message };
    return { ok: false, actors: 0, unfolded: {}, faults: [fault] };
  }
}

function faultLine({ code, actor, seq, message }: Fault): string {
  return `  ${oneLine(code)}  ${actor === null ? "the root" : oneLine(actor)}${seq === null ? "" : `, entry ${seq}`}: ${oneLine(message)}`;
}

function verifyReceipt(path: string, keyFile: string | undefined, screen: Screen): Result {
  const text = readGiven(path, "--receipt", "a receipt's file", RECEIPT_BYTES);
  const publicKey = keyFile === undefined ? undefined : readKey(resolve(keyFile));
  try {
    const receipt = checkReceipt(text, publicKey === undefined ? {} : { publicKey });
    const { rootId, sessionId, turnId, sourceRunId, successorRunId } = receipt;
    const proven = { root: rootId, session: sessionId, turn: turnId, sealed: sourceRunId, successor: successorRunId };
    const signedBy = "signature" in receipt ? (receipt.signature?.publicKey ?? null) : null;
    return {
      exit: EXIT.done,
      document: { ok: true, receipt: path, ...proven, signedBy, keyGiven: publicKey !== undefined, faults: [] },
      lines: [
        `${screen.style("green", "ok")}  run ${oneLine(sourceRunId)} was sealed, and continued once, by run ${oneLine(successorRunId)}`,
        `    ${signatureLine(signedBy, publicKey !== undefined)}`,
      ],
    };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const fault = { code: error.code, actor: claimedActor(text), seq: null, message: error.message };
    return {
      exit: EXIT.failed,
      document: { ok: false, receipt: path, faults: [fault] },
      lines: [screen.style("red", "1 fault"), faultLine(fault)],
    };
  }
}

/** The run that a damaged receipt says it is about, to find it by; it proves nothing. */
function claimedActor(text: string): string | null {
  const id = /"sourceRunId": "([^"\\]{1,256})"/.exec(text)?.[1];
  return id === undefined ? null : `run/${id}`;
}

function signatureLine(signedBy: string | null, keyGiven: boolean): string {
  if (signedBy === null) return "not signed: it proves nothing against someone who made a whole root for it";
  return keyGiven ? "signed by the key that was given" : `signed by the key ${signedBy}; whose that is, --public-key FILE tells`;
}

/** Here, where a key that is none is a refusal: inside the check it would be a fault of the receipt. */
function readKey(path: string): KeyObject {
  const text = readGiven(path, "--public-key", "a public key in PEM", KEY_BYTES);
  try {
    return publicKeyOf(text);
  } catch (cause) {
    throw refusal("--public-key", path, "holds no Ed25519 public key", "what `holdfast receipt --public-key` printed", cause);
  }
}

function readGiven(path: string, field: string, expected: string, limitBytes: number): string {
  const refuse = (problem: string, cause?: unknown) => refusal(field, path, problem, expected, cause);
  let found: ReturnType<typeof statSync>;
  try {
    found = statSync(path);
  } catch (cause) {
    throw refuse("cannot be read", cause);
  }
  if (!found.isFile()) throw refuse("is not a regular file");
  if (found.size > limitBytes) throw refuse(`has ${plural(found.size, "byte")}, and ${countOf(limitBytes)} are allowed`);
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw refuse("cannot be read", cause);
  }
}

function refusal(field: string, path: string, problem: string, expected: string, cause?: unknown): HoldfastError {
  return agentError("argument_invalid", `${field}: ${path} ${problem}; expected ${expected}`, { cause, details: { path: field } });
}
