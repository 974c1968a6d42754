/**
 * Bundle: modules of ours as few files, for a process that starts has to find and read each.
 *
 * A module is in one file only, whichever entries use it, so that what it holds is there once. What is imported lazily stays a file of
 * its own. Dependencies stay imports, but for the few parts of `zod/mini` that the engine uses: all of it would be a hundred files.
 */

import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ChunkingContext, rolldown } from "rolldown";
import { ROOT } from "../command.ts";

/** Modules of the package that are imported lazily, with so much behind them that it must not be cut up, nor loaded with anything else. */
const LAZY = ["src/cli/main.ts", "src/actor/handling.ts"];

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;

/** Writes the package: what its manifest exports, and its command, each under the name that stands there, and the licence of zod's parts. */
export async function bundlePackage(folder: string): Promise<void> {
  const exported = Object.values(manifest.exports).flatMap((target) => (typeof target === "string" ? [] : target.default));
  const names = [...exported, ...Object.values(manifest.bin)].map((target) => target.replace(/^(\.\/)?dist\//, "").replace(/\.js$/, ""));
  await bundle(Object.fromEntries(names.map((name) => [name, `${name}.ts`])), folder, LAZY);
  // Its terms go where its parts go.
  copyFileSync(join(ROOT, "node_modules", "zod", "LICENSE"), join(folder, "chunk", "LICENSE-zod"));
}

/** Source files by the names that they get, without extension. */
export type Entries = Readonly<Record<string, string>>;

/** A name and the module that it is for. */
type Named = readonly [name: string, path: string];

/**
 * Writes the entries, and what they share, as JavaScript. `lazy` names modules that are imported lazily, and then with much behind them
 * that no other lazy import needs.
 */
export async function bundle(entries: Entries, folder: string, lazy: readonly string[] = []): Promise<void> {
  const named = Object.entries(entries).map(([name, path]) => [name, join(ROOT, path)] as const);
  const late = lazy.map((path) => [path.replace(/\.ts$/, ""), join(ROOT, path)] as const);
  const build = await rolldown({
    input: Object.fromEntries(named),
    platform: "node",
    external: isExternal,
    tsconfig: join(ROOT, "tsconfig.json"),
    transform: { target: "es2024" },
    // Of ours, what is imported for its effect alone is kept; of zod, and of what the bundler adds, what is not used is not.
    treeshake: { moduleSideEffects: (id) => id.startsWith(ROOT) && !id.includes("node_modules") },
    preserveEntrySignatures: "allow-extension",
  });
  try {
    await build.write({
      dir: folder,
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: "chunk/[name]-[hash].js",
      codeSplitting: named.length === 1 || {
        groups: [{ debugName: "shared", name: sharedBy(named, late) }],
        includeDependenciesRecursively: false,
      },
    });
  } finally {
    await build.close();
  }
}

/** True for the package itself, and for what its user installs with it. What the bundler adds, such as for `using`, is neither. */
function isExternal(id: string): boolean {
  if (id === "zod/mini") return false;
  const packages = [manifest.name, ...Object.keys(manifest.dependencies)];
  return id.startsWith("node:") || packages.some((name) => id === name || id.startsWith(`${name}/`));
}

/**
 * The name of the file that a module is in: one file for each set of beginnings that load it. (Left to itself the bundler takes every
 * lazy import for a beginning, and cuts what an entry loads into some ten files.)
 */
function sharedBy(entries: readonly Named[], lazy: readonly Named[]): (id: string, context: ChunkingContext) => string | null {
  const users = new Map<string, ReadonlySet<string>>();
  const reach = (id: string, user: string, context: ChunkingContext, there: ReadonlySet<string>): void => {
    const known = users.get(id) ?? new Set();
    if (known.has(user) || (there.size > 0 && [...there].every((one) => known.has(one)))) return;
    users.set(id, new Set([...known, user]));
    for (const next of context.getModuleInfo(id)?.importedIds ?? []) reach(next, user, context, there);
  };
  const begin = (context: ChunkingContext): void => {
    const short = (name: string) => name.replace(/\/index$/, "").replace(/^.*\//, "");
    for (const [name, path] of entries) reach(path, short(name), context, new Set());
    // What is loaded wherever the lazy import stands needs no other place.
    for (const [name, path] of lazy)
      reach(path, short(name), context, users.get(context.getModuleInfo(path)?.dynamicImporters[0] ?? "") ?? new Set());
  };
  return (id, context) => {
    if (users.size === 0) begin(context);
    const names = users.get(id);
    // The command's first file must be readable for a Node that is too old for all others: it imports nothing, and stays as it is.
    const isAlone = context.getModuleInfo(id)?.importedIds.length === 0 && entries.some(([, path]) => path === id);
    return names === undefined || isAlone ? null : [...names].join("-");
  };
}
