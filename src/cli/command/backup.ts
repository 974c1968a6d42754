/** `holdfast backup FILE`: a consistent copy of a state root in one new file, also while a process owns the root. */

import { dirname, resolve } from "node:path";
import { backupRoot } from "../../store/backup.ts";
import { EXIT } from "../exit.ts";
import { plural, quoted } from "../format.ts";
import { existingDirectory } from "../place.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";
import { commandName } from "../self.ts";

/** Throws `file_exists`, `argument_invalid`, `input_invalid` for a file inside the root, `root_not_found` and what else reading a root may give. */
export async function backupCommand(given: string, options: CommonOptions, screen: Screen): Promise<Result> {
  const file = resolve(given);
  existingDirectory(dirname(file), "FILE");
  screen.bar.update("copying");
  const { rootId, bytes } = backupRoot({ path: options.root, file });
  return {
    exit: EXIT.done,
    document: { file, rootId, bytes },
    lines: [
      `${screen.style("green", "written")}  ${file}`,
      `${plural(bytes, "byte")}, root ${rootId}`,
      "",
      "To make a root of it, where the present one is used no longer (otherwise, --copied):",
      `  ${commandName()} adopt --moved --from ${quoted(file)} --root DIR`,
    ],
  };
}
