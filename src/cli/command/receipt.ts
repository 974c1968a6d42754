/** `holdfast receipt RUN`: writes the evidence that a sealed turn was continued exactly once; or prints the key that signs such evidence. */

import { agentError } from "../../agent/error.ts";
import { receiptOf, receiptText } from "../../agent/receipt.ts";
import { openReceiptKey, publicKeyText } from "../../store/receipt-key.ts";
import { openRoot } from "../../store/root.ts";
import { EXIT } from "../exit.ts";
import { oneLine, quoted } from "../format.ts";
import { findRunId } from "../id.ts";
import { writableFile, writeWhole } from "../place.ts";
import { withReader } from "../reading.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";
import { commandName } from "../self.ts";

export interface ReceiptOptions extends CommonOptions {
  readonly out?: string;
  readonly sign?: boolean;
  readonly publicKey?: boolean;
}

/** With `--json` the receipt itself is printed, in the very form that is checked, and a file is written only where `--out` names one. */
export async function receiptCommand(given: string | undefined, options: ReceiptOptions, screen: Screen): Promise<Result> {
  const out = options.out === undefined ? undefined : writableFile(options.out, "--out");
  if (options.publicKey === true) return publicKeyResult(given, out, options);
  if (given === undefined) throw agentError("argument_invalid", "RUN: expected a run, or --public-key", { details: { path: "RUN" } });
  const root = openRoot({ path: options.root, create: false });
  const { runId, receipt } = withReader(options.root, (reader) => {
    const runId = findRunId(reader, given);
    return { runId, receipt: receiptOf(reader, runId, options.sign === true ? () => openReceiptKey(root) : undefined) };
  });
  const path = out ?? writableFile(`${runId.replace(/[^\w.-]/g, "_")}.receipt.json`, "RUN");
  if (!screen.json || options.out !== undefined) writeWhole(path, receiptText(receipt));
  return {
    exit: EXIT.done,
    document: receipt,
    lines: [
      oneLine(`Run ${receipt.sourceRunId} was sealed, and continued once, by run ${receipt.successorRunId}.`, 1000),
      `Receipt  ${path}`,
      ...(receipt.signature ? [`Signed   by the key ${receipt.signature.publicKey}`] : []),
      `Check it anywhere: ${commandName()} verify --receipt ${quoted(path)}${receipt.signature ? " --public-key FILE" : ""}`,
    ],
  };
}

/** The public half of the root's key, as a PEM file; the key is made where there is none. */
function publicKeyResult(given: string | undefined, out: string | undefined, { sign, root: path }: ReceiptOptions): Result {
  if (given !== undefined || sign === true)
    throw agentError("argument_invalid", "--public-key: it prints the key of the root, and takes neither RUN nor --sign", {
      details: { path: "--public-key" },
    });
  const root = openRoot({ path, create: false });
  const publicKey = publicKeyText(openReceiptKey(root));
  if (out !== undefined) writeWhole(out, publicKey);
  return {
    exit: EXIT.done,
    document: { root: root.rootId, publicKey, file: out ?? null },
    lines: out === undefined ? publicKey.trimEnd().split("\n") : [`Public key  ${out}`],
  };
}
