/**
 * Screen: everything that a command writes while it works.
 *
 * Guarantees: with `--json` nothing but the one document goes to stdout; notes and progress go to stderr; colours only on a terminal,
 * and not where NO_COLOR is set.
 */

import { styleText } from "node:util";
import { Bar } from "./bar.ts";

type Style = Parameters<typeof styleText>[0];

const MIN_COLUMNS = 40;
/** Prose is not wider than this, however wide the terminal. */
const PROSE_COLUMNS = 100;
const PIPE_COLUMNS = 80;

export class Screen {
  readonly json: boolean;
  /** Progress on stderr. */
  readonly bar = new Bar(process.stderr);

  constructor(json: boolean) {
    this.json = json;
  }

  /** Columns of the terminal; unbounded where stdout is none. */
  get columns(): number {
    return process.stdout.isTTY ? Math.max(MIN_COLUMNS, process.stdout.columns || 80) : Number.POSITIVE_INFINITY;
  }

  /** Columns for text that is wrapped. */
  get proseColumns(): number {
    return process.stdout.isTTY ? Math.min(PROSE_COLUMNS, this.columns) : PIPE_COLUMNS;
  }

  /** Columns for text on stderr; unbounded where that is no terminal. */
  get noteColumns(): number {
    return process.stderr.isTTY ? Math.min(PROSE_COLUMNS, Math.max(MIN_COLUMNS, process.stderr.columns || 80)) : Number.POSITIVE_INFINITY;
  }

  /** A line for people on stdout; nothing with `--json`. */
  line(text = ""): void {
    if (this.json) return;
    this.bar.clear();
    process.stdout.write(`${text}\n`);
  }

  /** A line on stderr. */
  note(text: string): void {
    this.bar.clear();
    process.stderr.write(`${text}\n`);
  }

  /** The one JSON document on stdout. */
  document(value: unknown): void {
    this.bar.clear();
    process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  }

  /** Text for stdout with a colour, where stdout has any. */
  style(style: Style, text: string): string {
    return paint(process.stdout, style, text);
  }

  /** Text for stderr with a colour, where stderr has any. */
  noteStyle(style: Style, text: string): string {
    return paint(process.stderr, style, text);
  }
}

function paint(stream: NodeJS.WriteStream, style: Style, text: string): string {
  return stream.isTTY ? styleText(style, text, { stream }) : text;
}
