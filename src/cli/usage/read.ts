/** Commands that read a state root, also beside its owner: ls, show, verify, receipt. */

import { Argument } from "commander";
import { LISTS, type List, type PageOptions } from "../result.ts";
import { type Add, PART, type Perform, withCommon, withPage } from "./option.ts";

export function addReads(add: Add, perform: Perform): void {
  const ls = add("ls", "list what is in a state root, and why it is as it is; also while a process owns it", [
    "ls",
    "ls sessions --limit 20 --after 40",
    "ls interactions --state open",
    "ls effects --state exhausted",
    "ls quarantined",
  ])
    .usage("[WHAT] [options]")
    .addArgument(new Argument("[WHAT]", "what to list").choices(LISTS).default("runs"))
    .option("--state <STATE>", "only what is in this state or in one below it; of dead letters, quarantined: with this reason");
  withCommon(withPage(ls, 50, "rows")).action((what: List, options: PageOptions & { state?: string }) =>
    perform(async (screen) => (await import("../command/ls.ts")).lsCommand(what, options, screen), options.json === true),
  );
  const show = add("show", "tell what one actor is, why it is so, what it waits for, and what its journal says", [
    "show 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e",
    "show session/0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e --after 50",
    "show order/order-17",
  ])
    .usage("ID [options]")
    .argument("<ID>", `an address (run/…, session/…, handoff/…, work-plan/…, MACHINE/…), the id alone, ${PART}`)
    .addHelpText("after", "\nPayloads of events and contexts of actors are not shown; a program reads\nthem by `watch` and `getSnapshot`.");
  withCommon(withPage(show, 50, "journal entries")).action((id: string, options) =>
    perform(async (screen) => (await import("../command/show.ts")).showCommand(id, options, screen), options.json === true),
  );
}

export function addProofs(add: Add, perform: Perform): void {
  const verify = add("verify", "check every row of a state root against its journal, or a receipt offline", [
    "verify",
    "verify --root ./state --machines machines/index.ts",
    "verify --receipt 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e.receipt.json --public-key root-key.pem",
  ])
    .usage("[options]")
    .option("--machines <FILE>", "a module that exports more machines: without its machine an actor is checked but not folded again")
    .option("--receipt <FILE>", "check this receipt instead; needs no state root")
    .option("--public-key <FILE>", "the receipt must be signed by this key, which `holdfast receipt --public-key` printed");
  withCommon(verify).action((options) =>
    perform(async (screen) => (await import("../command/verify.ts")).verifyCommand(options, screen), options.json === true),
  );
  const receipt = add("receipt", "write the receipt of a handed-off turn: evidence of its one successor", [
    "receipt 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e --out receipt.json",
    "receipt 5be21f6e --sign",
    "receipt --public-key --out root-key.pem",
  ])
    .usage("[RUN] [options]")
    .argument("[RUN]", `the id of the sealed run or of its successor, ${PART}`)
    .option("--sign", "sign it with the key of the root, which is made where there is none")
    .option("--public-key", "print the public half of that key instead, for those who check receipts")
    .option("--out <FILE>", "the file (default: RUN.receipt.json in the current folder; of a key, stdout)");
  withCommon(receipt).action((id: string | undefined, options) =>
    perform(async (screen) => (await import("../command/receipt.ts")).receiptCommand(id, options, screen), options.json === true),
  );
  const upgrade = add("upgrade-check", "before a deploy: tell what other machines would make of every unfinished actor", [
    "upgrade-check",
    "upgrade-check --machines machines/index.ts --json",
  ])
    .usage("[options]")
    .option("--machines <FILE>", "a module that exports machines (default: this program's own)")
    .addHelpText(
      "after",
      "\nExits with 1 where an actor is blocked. One that is in quarantine is counted apart\nand is no reason against a deploy: release it before or after.",
    );
  withCommon(upgrade).action((options) =>
    perform(async (screen) => (await import("../command/upgrade-check.ts")).upgradeCheckCommand(options, screen), options.json === true),
  );
}
