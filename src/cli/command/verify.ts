/** `holdfast verify`: a whole state root checked against its journals, or one receipt checked without a root. */

import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { registerAll } from "../../actor/engine.ts";
import { HoldfastError } from "../../actor/error.ts";
import type { Fault } from "../../actor/fold.ts";
import type { StoreReader } from "../../actor/store.ts";
import type { Verified } from "../../actor/verify.ts";
import { agentError } from "../../agent/error.ts";
import { checkReceipt } from "../../agent/receipt.ts";
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
  readonly machines?: string;
}

const RECEIPT_BYTES = 64 * 1024 * 1024;

export async function verifyCommand(options: VerifyOptions, screen: Screen): Promise<Result> {
  if (options.receipt !== undefined) return verifyReceipt(resolve(options.receipt), screen);
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

function verifyReceipt(path: string, screen: Screen): Result {
  const text = readReceipt(path);
  try {
    const receipt = checkReceipt(text);
    const { rootId, sessionId, turnId, sourceRunId, successorRunId } = receipt;
    const proven = { root: rootId, session: sessionId, turn: turnId, sealed: sourceRunId, successor: successorRunId };
    return {
      exit: EXIT.done,
      document: { ok: true, receipt: path, ...proven, faults: [] },
      lines: [
        `${screen.style("green", "ok")}  run ${oneLine(sourceRunId)} was sealed, and continued once, by run ${oneLine(successorRunId)}`,
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

function readReceipt(path: string): string {
  const refuse = (problem: string, cause?: unknown) =>
    agentError("argument_invalid", `--receipt: ${path} ${problem}; expected a receipt's file`, { cause, details: { path: "--receipt" } });
  let found: ReturnType<typeof statSync>;
  try {
    found = statSync(path);
  } catch (cause) {
    throw refuse("cannot be read", cause);
  }
  if (!found.isFile()) throw refuse("is not a regular file");
  if (found.size > RECEIPT_BYTES) throw refuse(`has ${found.size} bytes, and ${RECEIPT_BYTES} are allowed`);
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw refuse("cannot be read", cause);
  }
}
