/** `holdfast receipt RUN`: writes the evidence that a sealed turn was continued exactly once. */

import { receiptOf, receiptText } from "../../agent/receipt.ts";
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
}

/** With `--json` the receipt itself is printed, in the very form that is checked, and a file is written only where `--out` names one. */
export async function receiptCommand(given: string, options: ReceiptOptions, screen: Screen): Promise<Result> {
  const out = options.out === undefined ? undefined : writableFile(options.out, "--out");
  const { runId, receipt } = withReader(options.root, (reader) => {
    const runId = findRunId(reader, given);
    return { runId, receipt: receiptOf(reader, runId) };
  });
  const path = out ?? writableFile(`${runId.replace(/[^\w.-]/g, "_")}.receipt.json`, "RUN");
  if (!screen.json || options.out !== undefined) writeWhole(path, receiptText(receipt));
  return {
    exit: EXIT.done,
    document: receipt,
    lines: [
      oneLine(`Run ${receipt.sourceRunId} was sealed, and continued once, by run ${receipt.successorRunId}.`, 1000),
      `Receipt  ${path}`,
      `Check it anywhere: ${commandName()} verify --receipt ${quoted(path)}`,
    ],
  };
}
