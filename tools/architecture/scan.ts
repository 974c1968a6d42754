/**
 * Scan: imports, exports and comments of the source, read by pattern.
 *
 * The source is formatted by a tool, so a pattern sees what a parser would; what a pattern cannot see is not checked here.
 */

import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { filesBelow, read } from "../docs/tree.ts";

export interface SourceFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** The text with comments blanked out; lines and columns stay. */
  readonly code: string;
  /** The comments alone, in their places. */
  readonly comments: string;
  readonly imports: readonly Import[];
}

export interface Import {
  /** As written. */
  readonly specifier: string;
  /** The file of ours that it leads to; undefined for a package. */
  readonly path: string | undefined;
}

/** All TypeScript files below these folders or named by these paths. */
export function sources(root: string, ...folders: readonly string[]): SourceFile[] {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => filesBelow(root, folder))
    .filter((path) => path.endsWith(".ts"))
    .map((path) => sourceFile(root, path));
}

export function sourceFile(root: string, path: string): SourceFile {
  const text = read(root, path);
  const code = withoutComments(text);
  const comments = text
    .split("")
    .map((char, index) => (char === code[index] && char !== "\n" ? " " : char))
    .join("");
  return { path, text, code, comments, imports: importsOf(path, code) };
}

/** `path:line` of each match of `pattern` in the file's code, or in its comments. */
export function places(file: SourceFile, pattern: RegExp, where: "code" | "comments" = "code"): string[] {
  const text = file[where];
  const global = new RegExp(pattern.source, pattern.flags.includes("g") ? pattern.flags : `${pattern.flags}g`);
  return [...text.matchAll(global)].map((match) => `${file.path}:${text.slice(0, match.index).split("\n").length} ${match[0].trim()}`);
}

/** All files of ours that can be reached from one file, itself included. */
export function reachable(root: string, path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path) || !existsSync(join(root, path))) return seen;
  seen.add(path);
  for (const { path: next } of sourceFile(root, path).imports) if (next !== undefined) reachable(root, next, seen);
  return seen;
}

function importsOf(path: string, code: string): Import[] {
  const pattern =
    /(?:^|[;\n])\s*(?:import|export)\b[^;"'`]*?\bfrom\s*["']([^"']+)["']|(?:^|[;\n])\s*import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/g;
  return [...code.matchAll(pattern)].map((match) => {
    const specifier = (match[1] ?? match[2] ?? match[3]) as string;
    return { specifier, path: specifier.startsWith(".") ? normalize(join(dirname(path), specifier)).replaceAll("\\", "/") : undefined };
  });
}

/** Blanks comments, leaves strings; a template literal counts as one string. */
function withoutComments(text: string): string {
  const token =
    /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*|(?<=[=(,:!&|?]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+\//g;
  return text.replace(token, (match) => (match.startsWith("//") || match.startsWith("/*") ? match.replace(/[^\n]/g, " ") : match));
}

/** A name that an entry file exports, and the file that declares it. */
export interface PublicExport {
  readonly name: string;
  readonly path: string;
}

/** The names that an entry exports, followed through re-exports to the files of ours that declare them. */
export function publicExports(root: string, path: string): PublicExport[] {
  const file = sourceFile(root, path);
  const found: PublicExport[] = [];
  for (const match of file.code.matchAll(/\bexport\s+(?:type\s+)?(?:\*|\{([^}]*)\})\s*from\s*["'](\.[^"']+)["']/g)) {
    const target = normalize(join(dirname(path), match[2] as string)).replaceAll("\\", "/");
    const all = publicExports(root, target);
    if (match[1] === undefined) found.push(...all);
    else for (const name of names(match[1])) found.push(all.find((one) => one.name === name) ?? { name, path: target });
  }
  for (const match of file.code.matchAll(/\bexport\s+(?:type\s+)?\{([^}]*)\}(?!\s*from)/g)) {
    for (const name of names(match[1] as string)) found.push({ name, path: importedFrom(file, name) ?? path });
  }
  for (const match of file.code.matchAll(DECLARATION)) if (match[1]) found.push({ name: match[2] as string, path });
  return found;
}

const DECLARATION =
  /^(export\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\*?|class|const|let|interface|type|enum)\s+([A-Za-z_$][\w$]*)/gm;

/** True where the declaration has a docstring right above it. */
export function isDocumented(root: string, { name, path }: PublicExport): boolean {
  const { text } = sourceFile(root, path);
  const declaration = [...text.matchAll(DECLARATION)].find((match) => match[2] === name);
  return declaration !== undefined && text.slice(0, declaration.index).trimEnd().endsWith("*/");
}

/** Names of all declarations in a file: top-level, and class members and locals that are declared by keyword. */
export function declarations(file: SourceFile): string[] {
  return [...file.code.matchAll(/\b(?:function\*?|class|const|let|interface|type|enum)\s+([A-Za-z_$][\w$]*)/g)].map(
    (match) => match[1] as string,
  );
}

/** What opens a function, a method, or a function in an argument or a value, on the line that it begins on. */
const FUNCTION =
  /^(?!\s*(?:if|for|while|switch|catch|return|throw|await|do|else)\b)\s*(?:(?:export |default |async )*function\b.*|(?:static |async |get |set |\*)*[#\w$]+(?:<.*>)?\((?:.*\{)?|.*=> \{)$|=> \{$/;

/** `path:line lines` of each function that is longer than `limit` lines, from its first line to its closing brace. */
export function longFunctions({ path, code }: SourceFile, limit: number): string[] {
  const lines = code.split("\n").map((line) => line.trimEnd());
  return lines.flatMap((line, index) => {
    if (!FUNCTION.test(line)) return [];
    const indent = line.slice(0, line.length - line.trimStart().length);
    // The formatter puts the brace that ends it under its beginning; one that ends its parameters opens the body on the same line.
    const end = lines.findIndex(
      (other, at) => at > index && /^[})]/.test(other.slice(indent.length)) && other.startsWith(indent) && !other.endsWith("{"),
    );
    const length = end - index + 1;
    return length > limit ? [`${path}:${index + 1} ${length}`] : [];
  });
}

function names(list: string): string[] {
  return list
    .split(",")
    .map(
      (part) =>
        part
          .trim()
          .replace(/^type\s+/, "")
          .split(/\s+as\s+/)[0] as string,
    )
    .filter((name) => name !== "");
}

function importedFrom(file: SourceFile, name: string): string | undefined {
  for (const match of file.code.matchAll(/\bimport\s+(?:type\s+)?\{([^}]*)\}\s*from\s*["'](\.[^"']+)["']/g))
    if (names(match[1] as string).includes(name)) return normalize(join(dirname(file.path), match[2] as string)).replaceAll("\\", "/");
  return undefined;
}
