/**
 * Bar: how far a piece of work is, on one line of a terminal that is drawn over and over.
 *
 * Guarantees: where the stream is no terminal, nothing is ever written; the line is never wider than the terminal; whoever prints
 * something else calls `clear` first.
 */

import { countOf } from "./format.ts";

/** Milliseconds between two drawings. */
const INTERVAL_MS = 60;
const MAX_BLOCKS = 30;
const CLEAR_LINE = "\r\u001b[2K";

export class Bar {
  readonly #stream: NodeJS.WriteStream;
  readonly #enabled: boolean;
  #drawnMs = 0;
  #shown = false;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    this.#enabled = stream.isTTY === true && process.env.TERM !== "dumb";
  }

  /** Draws the line, unless it was drawn a moment ago. A total of 0 shows the label alone. */
  update(label: string, done = 0, total = 0): void {
    const now = performance.now();
    if (!this.#enabled || (this.#shown && done < total && now - this.#drawnMs < INTERVAL_MS)) return;
    this.#drawnMs = now;
    this.#shown = true;
    this.#stream.write(`${CLEAR_LINE}${barText(label, done, total, this.#stream.columns || 80)}`);
  }

  /** Takes the line away. */
  clear(): void {
    if (!this.#shown) return;
    this.#shown = false;
    this.#stream.write(CLEAR_LINE);
  }
}

/** The line's text, at most `columns - 1` wide: the last column would make some terminals wrap. */
export function barText(label: string, done: number, total: number, columns: number): string {
  if (total <= 0) return label.slice(0, columns - 1);
  const count = `${countOf(Math.min(done, total)).padStart(countOf(total).length)} / ${countOf(total)}`;
  const blocks = Math.min(MAX_BLOCKS, columns - 1 - label.length - count.length - 4);
  if (blocks < 5) return `${label}  ${count}`.slice(0, columns - 1);
  const filled = Math.floor((Math.min(done, total) / total) * blocks);
  return `${label}  ${"█".repeat(filled)}${"░".repeat(blocks - filled)}  ${count}`;
}
