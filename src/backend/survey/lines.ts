/**
 * Lines of a text that arrives in chunks, and the lines in it that say TODO or FIXME.
 *
 * Guarantees: memory is bounded whatever the length of a line; a mark is found wherever the chunks are cut. Lists that go into a tool's
 * result are bounded in entries, in characters and in bytes of JSON.
 */

/** A line is passed on whole up to this many bytes, and in pieces of at least as many beyond. */
export const MAX_WHOLE_LINE_BYTES = 65_536;

const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);

/** A line or a piece of one. The bytes are valid only during the call that receives them. */
export interface Piece {
  /** Number of the line, from 1. */
  readonly line: number;
  /** Without the newline. */
  readonly bytes: Buffer;
  readonly first: boolean;
  readonly last: boolean;
}

/** Cuts chunks into lines. `count` is what `grep -a -c ''` says: newlines, and one more for an unterminated last line. */
export class LineSplitter {
  private carried = NOTHING;
  private inside = false;
  private line = 1;
  private readonly receive: (piece: Piece) => void;

  constructor(receive: (piece: Piece) => void) {
    this.receive = receive;
  }

  push(chunk: Buffer): void {
    let start = 0;
    while (start < chunk.length) {
      const end = chunk[start] === NEWLINE ? start : chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      this.emit(chunk.subarray(start, end), true);
      start = end + 1;
    }
    if (start === chunk.length) return;
    const rest = chunk.subarray(start);
    if (this.carried.length + rest.length > MAX_WHOLE_LINE_BYTES) this.emit(rest, false);
    else this.carried = Buffer.concat([this.carried, rest]);
  }

  /** Ends the text and answers with the number of its lines. */
  end(): number {
    if (this.inside || this.carried.length > 0) this.emit(NOTHING, true);
    return this.line - 1;
  }

  private emit(bytes: Buffer, last: boolean): void {
    const whole = this.carried.length > 0 ? Buffer.concat([this.carried, bytes]) : bytes;
    this.carried = NOTHING;
    this.receive({ line: this.line, bytes: whole, first: !this.inside, last });
    this.inside = !last;
    if (last) this.line++;
  }
}

/** Number of newline bytes. */
export function countNewlines(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

const MAX_SHOWN = 50;
const MAX_TEXT_CHARACTERS = 200;
/** Two of these, escaped and with their line numbers, are far below the 64 KiB of a tool's result. */
const MAX_SHOWN_JSON_BYTES = 24_576;
/** Enough bytes for `MAX_TEXT_CHARACTERS` of any length in UTF-8. */
const TEXT_BYTES = 4 * MAX_TEXT_CHARACTERS;

/** A count of all entries, and the first of them. */
export interface Listing {
  readonly count: number;
  readonly shown: readonly { readonly line: number; readonly text: string }[];
}

/** Collects a `Listing` of at most 50 entries, 200 characters each, and 24 KiB of JSON together. */
export class BoundedListing implements Listing {
  count = 0;
  readonly shown: { line: number; text: string }[] = [];
  private budget = MAX_SHOWN_JSON_BYTES;

  add(line: number, text: Buffer): void {
    this.count++;
    if (this.shown.length >= MAX_SHOWN || this.budget <= 0) return;
    const entry = { line, text: [...text.subarray(0, TEXT_BYTES).toString("utf8").trim()].slice(0, MAX_TEXT_CHARACTERS).join("") };
    this.budget -= Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (this.budget >= 0) this.shown.push(entry);
  }

  toJson(): { count: number; shown: { line: number; text: string }[] } {
    return { count: this.count, shown: this.shown };
  }
}

const MARK = /(?<![A-Za-z0-9_])(?:TODO|FIXME)(?![A-Za-z0-9_])/g;
/** The longest mark with a byte on either side, and one to spare. */
const OVERLAP_BYTES = 8;

/** Lists the lines with TODO or FIXME as a word (bounded by ASCII letters, digits and underscore), each line once. */
export class MarkFinder {
  readonly found = new BoundedListing();
  private head = NOTHING;
  private tail = NOTHING;
  private marked = false;

  receive({ line, bytes, first, last }: Piece): void {
    if (first) {
      this.marked = false;
      this.tail = NOTHING;
      if (!last) this.head = Buffer.from(withoutIndent(bytes).subarray(0, TEXT_BYTES));
    }
    if (!this.marked) {
      const window = first ? bytes : Buffer.concat([this.tail, bytes]);
      this.marked = hasMark(window, first, last);
      if (!last) this.tail = Buffer.from(window.subarray(-OVERLAP_BYTES));
    }
    if (last && this.marked) this.found.add(line, first ? withoutIndent(bytes) : this.head);
  }
}

/** Looks for a mark that is certain: where more of the line precedes or follows, a mark at that very edge is left to the overlap. */
function hasMark(window: Buffer, startsLine: boolean, endsLine: boolean): boolean {
  if (!window.includes("TODO") && !window.includes("FIXME")) return false;
  for (const match of window.toString("latin1").matchAll(MARK)) {
    const end = match.index + match[0].length;
    if ((startsLine || match.index > 0) && (endsLine || end < window.length)) return true;
  }
  return false;
}

function withoutIndent(bytes: Buffer): Buffer {
  let start = 0;
  while (bytes[start] === 32 || bytes[start] === 9) start++;
  return bytes.subarray(start);
}
