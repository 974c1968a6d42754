/** `holdfast adopt`: says what a directory is that was copied or restored from elsewhere, or makes one of a backup. */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { machines as ours } from "../../../machines/index.ts";
import { HoldfastError } from "../../actor/error.ts";
import { PAGE, pages } from "../../actor/page.ts";
import { agentError } from "../../agent/error.ts";
import { type Adoption, adoptRoot } from "../../store/adopt.ts";
import { restoreRoot } from "../../store/backup.ts";
import { readMarker } from "../../store/marker.ts";
import { openRoot, type Root } from "../../store/root.ts";
import { EXIT } from "../exit.ts";
import { oneLine, quoted, wrap } from "../format.ts";
import { withReader } from "../reading.ts";
import type { CommonOptions, Result } from "../result.ts";
import type { Screen } from "../screen.ts";
import { commandName } from "../self.ts";

export interface AdoptOptions extends CommonOptions {
  readonly moved?: boolean;
  readonly copied?: boolean;
  readonly from?: string;
}

/** Throws `argument_invalid` where it is not said what the directory is, `root_owned`, and what opening or restoring a root may give. */
export async function adoptCommand(options: AdoptOptions, screen: Screen): Promise<Result> {
  const path = resolve(options.root);
  const { from } = options;
  const as = adoptionOf(options, () => (from === undefined ? livedAt(path) : null));
  const was = from === undefined ? openRoot({ path, create: false }).rootId : null;
  if (from !== undefined && !statSync(from, { throwIfNoEntry: false })?.isFile())
    throw agentError("argument_invalid", `--from: ${resolve(from)} is no regular file; expected what \`holdfast backup\` wrote`, {
      details: { path: "--from" },
    });
  const root: Root = from === undefined ? adoptRoot({ path, as }) : restoreRoot({ file: resolve(from), path, as });
  const id = as === "moved" ? `It keeps the id ${root.rootId}.` : `It has the new id ${root.rootId}.`;
  const warning =
    as === "moved"
      ? "What it came from must not be used any more: both would believe that they are the only one."
      : "What it came from goes on as it was.";
  return {
    exit: EXIT.done,
    document: { root: root.path, rootId: root.rootId, as, was, from: from === undefined ? null : resolve(from) },
    lines: [
      `${screen.style("green", from === undefined ? "adopted" : "restored")}  ${root.path}`,
      id,
      ...wrap(warning, screen.proseColumns),
      "",
      "Check it:",
      `  ${commandName()} verify --root ${quoted(root.path)}${hasOtherMachines(root.path) ? " --machines FILE" : ""}`,
    ],
  };
}

/** True where there are actors of machines that this program does not have. A root that cannot be read yet gives no hint. */
function hasOtherMachines(path: string): boolean {
  try {
    return withReader(path, (reader) => {
      const rows = pages(
        (after) => reader.actors({}, { after, limit: PAGE }),
        (row) => row.ordinal,
      );
      for (const { machine } of rows) if (!ours.some(({ id }) => id === machine)) return true;
      return false;
    });
  } catch (error) {
    if (error instanceof HoldfastError) return false;
    throw error;
  }
}

/** Which it is, or an error that helps to find out. */
function adoptionOf({ moved, copied }: AdoptOptions, place: () => string | null): Adoption {
  if (moved === true && copied !== true) return "moved";
  if (copied === true && moved !== true) return "copied";
  const lived = place();
  throw agentError(
    "argument_invalid",
    `say which it is: --moved (${lived ? `${oneLine(lived)} is used no longer` : "what it came from is used no longer"}), or --copied (both are used)`,
    { details: { path: "--moved" } },
  );
}

/** Where the marker says that the root lives, if that is elsewhere. */
function livedAt(given: string): string | null {
  const { path } = openRoot({ path: given, create: false });
  const lived = readMarker(path)?.place?.path ?? path;
  return lived === path ? null : lived;
}
