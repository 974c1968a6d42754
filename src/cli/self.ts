/** Self: what this program says of itself: its version, and how it is called. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { quoted } from "./format.ts";

/** The package's version. */
export function packageVersion(): string {
  // The source is two folders below the manifest, the build three.
  for (const path of ["../../package.json", "../../../package.json"]) {
    try {
      const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")) as { name?: unknown; version?: unknown };
      if (manifest.name === "holdfast" && typeof manifest.version === "string") return manifest.version;
    } catch {
      // The other place has it.
    }
  }
  return "unknown";
}

/** How a person calls the command here: in a checkout through npm, otherwise by its name. */
export function commandName(): string {
  return import.meta.url.endsWith(".ts") ? "npm run -s holdfast --" : "holdfast";
}

/** How a root is named to the command: not at all where it is the one that it takes by itself. */
export function rootOption(root: string): string {
  return resolve(root) === resolve(".holdfast") ? "" : ` --root ${quoted(root)}`;
}

/** The command line of a child process of the demo; not for people, and in no help text. */
export const DEMO_PROCESS = "demo-process";
