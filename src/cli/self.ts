/** Self: what this program says of itself: its version, and how it is called. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { quoted } from "./format.ts";

/** The package's version. */
export function packageVersion(): string {
  try {
    // Two folders below the manifest both in the source and in the build, where this is in `dist/chunk`.
    const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
      name?: unknown;
      version?: unknown;
    };
    if (manifest.name === "holdfast" && typeof manifest.version === "string") return manifest.version;
  } catch {
    // Somebody took it away.
  }
  return "unknown";
}

/** How a person calls the command here: in a checkout through npm, otherwise by its name. */
export function commandName(): string {
  return isSource() ? "npm run -s holdfast --" : "holdfast";
}

/** The file of the command, for a process that starts it again. */
export function commandFile(): string {
  return fileURLToPath(new URL(isSource() ? "bin.ts" : "../src/cli/bin.js", import.meta.url));
}

function isSource(): boolean {
  return import.meta.url.endsWith(".ts");
}

/** How a root is named to the command: not at all where it is the one that it takes by itself. */
export function rootOption(root: string): string {
  return resolve(root) === resolve(".holdfast") ? "" : ` --root ${quoted(root)}`;
}

/** The command line of a child process of the demo; not for people, and in no help text. */
export const DEMO_PROCESS = "demo-process";
