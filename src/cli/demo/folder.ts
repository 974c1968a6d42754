/** Folder: where the demo keeps its state root, report and receipt: never inside the folder that it surveys. */

import { existsSync, mkdtempSync, readdirSync, realpathSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { agentError } from "../../agent/error.ts";
import { isInside, realPath } from "../place.ts";

export interface DemoFolder {
  readonly root: string;
  readonly report: string;
  readonly receipt: string;
  /** The temporary folder that was made for all of it; null where the caller named a root. */
  readonly made: string | null;
}

/** Makes the place of one demo on `directory`. Throws `argument_invalid` where there is none outside it. */
export function demoFolder(directory: string, options: { readonly root?: string; readonly out?: string }): DemoFolder {
  if (options.root !== undefined) return givenRoot(directory, resolve(options.root), options.out);
  const places = [tmpdir(), process.env.XDG_RUNTIME_DIR, "/dev/shm", "/var/tmp", homedir(), dirname(realPath(directory))];
  for (const place of new Set(places)) {
    if (!place || isInside(place, directory)) continue;
    try {
      const made = realpathSync(mkdtempSync(join(place, "holdfast-demo-")));
      return { root: join(made, "root"), report: options.out ?? join(made, "report.md"), receipt: join(made, "receipt.json"), made };
    } catch {
      // Not writable: the next place may be.
    }
  }
  throw agentError("argument_invalid", `DIR: no writable folder outside ${directory} was found for the state root; name one with --root`, {
    details: { path: "DIR" },
  });
}

function givenRoot(directory: string, root: string, out: string | undefined): DemoFolder {
  const refuse = (problem: string) => agentError("argument_invalid", `--root: ${root} ${problem}`, { details: { path: "--root" } });
  if (isInside(root, directory)) throw refuse(`is inside the surveyed folder ${directory}; expected a place outside it`);
  if (existsSync(root)) {
    let names: string[] = [];
    try {
      names = readdirSync(root);
    } catch {
      throw refuse("is not a directory; expected a new or an empty one");
    }
    if (names.length > 0) throw refuse("is not empty; the demo needs a fresh state root");
  }
  return { root, report: out ?? join(root, "reports", "report.md"), receipt: join(root, "reports", "receipt.json"), made: null };
}
