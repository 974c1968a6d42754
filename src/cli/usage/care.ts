/** Commands that take care of a state root: the ways out, and its upkeep. Each owns the root while it acts, and starts nothing in it. */

import type { Command } from "commander";
import { durationFrom } from "../duration.ts";
import { type Add, collected, OWNER_TEXT, PART, type Perform, withCommon } from "./option.ts";

const HOUR_MS = 3_600_000;

export function addWaysOut(add: Add, perform: Perform): void {
  addAnswer(add, perform);
  const retry = withMachines(
    add("retry", "open an exhausted or unknown effect again; the next process that owns the root runs it", ["retry order/order-17:4:0"])
      .usage("KEY [options]")
      .argument("<KEY>", `an effect's key, ${PART}; see \`holdfast ls effects\``),
  );
  withCommon(retry).action((key: string, options) =>
    perform(async (screen) => (await import("../command/retry.ts")).retryCommand(key, options, screen), options.json === true),
  );
  const resolve = withMachines(
    add("resolve", "settle an exhausted or unknown effect by hand, as if its handler had said so", [
      `resolve order/order-17:4:0 --output '"receipt-1"'`,
      "resolve order/order-17:4:0 --error card_declined:'The bank said no'",
    ])
      .usage("KEY [options]")
      .argument("<KEY>", `an effect's key, ${PART}; see \`holdfast ls effects\``)
      .option("--output <JSON>", "it was done, with this result")
      .option("--error <CODE[:MESSAGE]>", "it failed, with this code"),
  );
  withCommon(resolve).action((key: string, options) =>
    perform(async (screen) => (await import("../command/resolve.ts")).resolveCommand(key, options, screen), options.json === true),
  );
  const release = withMachines(
    add("release", "take an actor out of quarantine after a check, and deliver what waited for it", [
      "release run/0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e",
      "release order-17 --discard",
    ])
      .usage("ID [options]")
      .argument("<ID>", `an actor's address or id, ${PART}; see \`holdfast ls quarantined\``)
      .option("--discard", "leave out the event that it cannot take; it stays listed"),
  );
  withCommon(release).action((id: string, options) =>
    perform(async (screen) => (await import("../command/release.ts")).releaseCommand(id, options, screen), options.json === true),
  );
}

function addAnswer(add: Add, perform: Perform): void {
  const answer = add("answer", "answer a question, or give or deny a permission; the next process that owns the root goes on", [
    'answer 0199c3f2-6b1e-7c11-9a53-0d4a5be21f6e.name "Ada Lovelace"',
    "answer 5be21f6e.write --allow --hash HASH",
    'answer 5be21f6e.write --deny --hash HASH --note "Not on a Friday"',
  ])
    .usage("INTERACTION [TEXT] [options]")
    .argument("<INTERACTION>", `an interaction's id, ${PART}; see \`holdfast ls interactions\``)
    .argument("[TEXT]", "the answer to a question")
    .option("--allow", "give the permission")
    .option("--deny", "deny the permission")
    .option("--hash <HASH>", "what is answered, as `holdfast show INTERACTION` gives it; demanded for a permission")
    .option("--note <TEXT>", "with --allow or --deny: why, for the model to read");
  withCommon(answer.addHelpText("after", OWNER_TEXT)).action((id: string, text: string | undefined, options) =>
    perform(async (screen) => (await import("../command/answer.ts")).answerCommand(id, text, options, screen), options.json === true),
  );
}

export function addUpkeep(add: Add, perform: Perform): void {
  const retain = add("retain", "forget what is old: final actors, recorded answers, dead letters, blobs that nothing mentions", [
    "retain --final 30d --dead-letters 30d",
    "retain --final 1w --machine order --state shipped",
    "retain --keys 7d --blobs 1d --json",
  ])
    .usage("[options]")
    .option(
      "--final <AGE>",
      "actors that ended and have been silent for longer; runs and handoffs go with their archived session",
      durationFrom(0),
    )
    .option("--machine <MACHINE>", "of those only these machines' (may be repeated)", collected)
    .option("--state <STATE>", "of those only such that ended in this state (may be repeated)", collected)
    .option("--keys <AGE>", "answers to keyed events; a repetition after that is taken anew", durationFrom(0))
    .option("--dead-letters <AGE>", "events that reached nobody; those that their receiver will still get stay", durationFrom(0))
    .option("--blobs <AGE>", "large values that no journal entry mentions; reads the whole journal", durationFrom(HOUR_MS));
  withCommon(retain).action((options) =>
    perform(async (screen) => (await import("../command/retain.ts")).retainCommand(options, screen), options.json === true),
  );
  const backup = add("backup", "write a consistent copy into one new file; also while a process owns the root", [
    "backup ~/backups/holdfast-monday.db",
  ])
    .usage("FILE [options]")
    .argument("<FILE>", "where to; nothing is replaced");
  withCommon(backup).action((file: string, options) =>
    perform(async (screen) => (await import("../command/backup.ts")).backupCommand(file, options, screen), options.json === true),
  );
  const adopt = add("adopt", "say what a directory is that was copied or restored from elsewhere, or make one from a backup", [
    "adopt --moved",
    "adopt --copied --root /srv/holdfast-test",
    "adopt --moved --from ~/backups/holdfast-monday.db --root /srv/holdfast",
  ])
    .usage("(--moved | --copied) [options]")
    .option("--moved", "it is the root, and the other directory is used no longer: it keeps its id")
    .option("--copied", "it is a copy, and both are used: it gets an id of its own")
    .option("--from <FILE>", "make the root of this backup, in a new or an empty directory");
  withCommon(adopt).action((options) =>
    perform(async (screen) => (await import("../command/adopt.ts")).adoptCommand(options, screen), options.json === true),
  );
}

function withMachines(command: Command): Command {
  return command
    .option("--machines <FILE>", "a module that exports the actor's machine (default: this program's own machines)")
    .addHelpText("after", ACTING_TEXT);
}

const ACTING_TEXT = `
Give the machines of the version that is deployed: an actor of an older version
is migrated by this, and the older program is then refused.
No process may own the root; a running program calls the method of the same
name.`;
