/** Folder: says whether a folder changes while no tool is at work. For `exerciseBackend`. */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** The folder in which a backend works, looked at between its tools. */
export class Folder {
  /** What changed and was no tool's doing: when it was seen. */
  readonly changes: string[] = [];
  readonly #path: string;
  #known: string | undefined;
  #tools = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** What has changed since the last look, no tool has changed. */
  look(when: string): void {
    if (this.#tools > 0) return;
    const now = digestOf(this.#path);
    if (this.#known !== undefined && now !== this.#known) this.changes.push(when);
    this.#known = now;
  }

  toolBegins(name: string): void {
    this.look(`before the tool ${name} ran`);
    this.#tools++;
  }

  toolEnds(): void {
    if (--this.#tools === 0) this.#known = digestOf(this.#path);
  }
}

/** Names and contents of all that is in a folder. */
function digestOf(path: string): string {
  const hash = createHash("sha256");
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const child = join(path, entry.name);
    hash.update(`${entry.name}\0`);
    if (entry.isDirectory()) hash.update(digestOf(child));
    else if (entry.isSymbolicLink()) hash.update(readlinkSync(child));
    else if (entry.isFile()) hash.update(readFileSync(child));
    hash.update("\0");
  }
  return hash.digest("hex");
}
