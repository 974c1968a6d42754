/**
 * Paths of the survey: bytes on disk, JSON in tool arguments and manifests, escaped text in the report.
 *
 * Owns: the three forms of a path relative to the survey's root and the ways between them. On Linux a name is any bytes without
 * NUL and `/`, so a path is handled as its bytes; no name is lost or mistaken for another.
 * A `BytePath` holds one byte in each character (latin1): comparing two of them with `<` is byte order.
 * Next: walk.ts.
 */

import { isUtf8 } from "node:buffer";
import { z } from "zod";

/** Bytes of a path, one per character. Never shown to anybody as it is. */
export type BytePath = string;

/** A path in JSON: its text where the bytes are valid UTF-8, otherwise base64 of the bytes. Each path has exactly one form. */
export type PathText = string | { readonly base64: string };

/** More than any path that can be opened (4,095 bytes) plus one name (255). */
const MAX_PATH_BYTES = 8_192;

/** The path as `fs` takes it. */
export function toBuffer(path: BytePath): Buffer {
  return Buffer.from(path, "latin1");
}

export function fromBuffer(bytes: Uint8Array): BytePath {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/** The bytes of an ordinary string, such as a path from the options. */
export function fromText(text: string): BytePath {
  return Buffer.from(text, "utf8").toString("latin1");
}

export function encodePath(path: BytePath): PathText {
  const bytes = toBuffer(path);
  return isUtf8(bytes) ? bytes.toString("utf8") : { base64: bytes.toString("base64") };
}

export function decodePath(path: PathText): BytePath {
  return typeof path === "string" ? fromText(path) : Buffer.from(path.base64, "base64").toString("latin1");
}

/** True for a relative path that names something below its root: no empty, `.` or `..` part, no NUL. */
function staysBelow(path: BytePath): boolean {
  return !path.includes("\0") && path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

function isEncodedBytes(base64: string): boolean {
  const bytes = Buffer.from(base64, "base64");
  return bytes.toString("base64") === base64 && !isUtf8(bytes) && staysBelow(bytes.toString("latin1"));
}

/** A path below the survey's root, as tool arguments and manifests carry it. */
export const pathSchema: z.ZodType<PathText> = z.union([
  z
    .string()
    .min(1)
    .max(MAX_PATH_BYTES)
    .refine((text) => text.isWellFormed() && staysBelow(fromText(text)), "expected a relative path below the folder"),
  z.strictObject({
    base64: z
      .string()
      .max(2 * MAX_PATH_BYTES)
      .refine(isEncodedBytes, "expected base64 of a relative path that is not valid UTF-8"),
  }),
]);

export function joinPath(directory: BytePath, name: BytePath): BytePath {
  return directory === "" || directory.endsWith("/") ? directory + name : `${directory}/${name}`;
}

/** What is before the last `/`; empty for a name alone. */
export function directoryOf(path: BytePath): BytePath {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Valid UTF-8 sequences of bytes (Unicode 15, table 3-7), or one byte that belongs to none. */
const UTF8_OR_BYTE =
  /((?:[^\x80-\xff]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})+)|[\x80-\xff]/g;

/** Control, line-breaking and direction-changing characters. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

const NAMED_ESCAPES: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Text on one line in which nothing can disturb its surroundings: unsafe characters become `\n`, `\u{202e}` and so on. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, (char) => NAMED_ESCAPES[char] ?? `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/**
 * A path for people, escaped like `escapeText`. A backslash is doubled and a byte that is not UTF-8 becomes `\xff`, so different
 * paths stay different.
 */
export function showPath(path: BytePath): string {
  return path.replace(UTF8_OR_BYTE, (match: string, valid: string | undefined) =>
    valid === undefined
      ? `\\x${match.charCodeAt(0).toString(16)}`
      : escapeText(Buffer.from(valid, "latin1").toString("utf8").replaceAll("\\", "\\\\")),
  );
}
