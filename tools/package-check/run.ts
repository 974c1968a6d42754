/**
 * `npm run check:package`: what a user gets, checked from the tarball: packed, installed into an empty project, run and typed there.
 *
 * One line per check; a check that cannot be made fails. Needs the registry that npm is configured for.
 */

import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { conclude, type Ended, type Options, ROOT, run } from "../command.ts";

const MINIMUM: readonly [number, number] = [22, 19];
const EXAMPLES = join(ROOT, "docs", "examples");
const NODE22 = join(ROOT, "tools", "node22");

const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  version: string;
  bin: Record<string, string>;
  exports: Record<string, string | Record<string, string>>;
};
const started = performance.now();
const folder = mkdtempSync(join(tmpdir(), "holdfast-package-"));
const project = join(folder, "project");
const bin = join(project, "node_modules", "holdfast", manifest.bin.holdfast ?? "");
let passed = 0;
let failed = 0;

/** Makes one check. It passes where `body` gives no complaint. */
function check(name: string, body: () => string | undefined): boolean {
  let complaint: string | undefined;
  try {
    complaint = body();
  } catch (error) {
    complaint = error instanceof Error ? error.message : String(error);
  }
  console.log(`${complaint === undefined ? "ok    " : "failed"}  ${name}`);
  if (complaint === undefined) passed += 1;
  else {
    failed += 1;
    console.log(complaint.replace(/^/gm, "          "));
  }
  return complaint === undefined;
}

function complaintOf(ended: Ended): string | undefined {
  return ended.ok ? undefined : `exit code ${ended.code}\n${ended.output}`;
}

/** npm as a user would start it: without what `npm run` tells its children about this checkout. */
function npm(args: readonly string[], options: Options = {}): Ended {
  const inherited = Object.keys(process.env).filter(
    (name) => /^npm_(config_local_prefix|package_|lifecycle_)/.test(name) || name === "INIT_CWD",
  );
  return run("npm", [...args, "--no-fund", "--no-audit"], {
    ...options,
    env: { ...Object.fromEntries(inherited.map((name) => [name, undefined])), ...options.env },
  });
}

function tarball(): string {
  const file = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  if (file === undefined) throw new Error("there is no tarball");
  return join(folder, file);
}

function pack(): string | undefined {
  const ended = npm(["pack", "--json", "--loglevel=error", "--pack-destination", folder]);
  if (!ended.ok) return complaintOf(ended);
  const listing = JSON.parse(ended.stdout.slice(ended.stdout.search(/^[[{]/m))) as unknown;
  const [packed] = Object.values(listing as Record<string, { files: { path: string }[] }>);
  const paths = new Set(packed?.files.map((file) => file.path));
  const exported = Object.values(manifest.exports).flatMap((target) => (typeof target === "string" ? [target] : Object.values(target)));
  const targets = [...exported, ...Object.values(manifest.bin)];
  const wanted = [
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "dist/chunk/LICENSE-zod",
    ...targets.map((target) => target.replace(/^\.\//, "")),
  ];
  const missing = wanted.filter((path) => !paths.has(path)).map((path) => `missing: ${path}`);
  const foreign = [...paths]
    .filter(
      (path) =>
        !/^(dist\/.+\.(js|d\.ts)|dist\/chunk\/LICENSE-zod|docs\/.+|package\.json|README\.md|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md)$/.test(
          path,
        ),
    )
    .map((path) => `should not be packed: ${path}`);
  const problems = [...missing, ...foreign];
  return problems.length === 0 ? undefined : problems.join("\n");
}

function install(): string | undefined {
  cpSync(join(ROOT, "tools", "package-check", "project"), project, { recursive: true });
  writeFileSync(join(project, "package.json"), `${JSON.stringify({ name: "consumer", private: true, type: "module" }, null, 2)}\n`);
  const ended = npm(["install", "--loglevel=warn", tarball()], { cwd: project });
  if (!ended.ok) return complaintOf(ended);
  return /npm (warn|error)/i.test(ended.stderr) ? ended.stderr : undefined;
}

/** The example files, each of which must end by itself with exit code 0. */
function examples(): string[] {
  const found = existsSync(EXAMPLES) ? readdirSync(EXAMPLES).filter((name) => name.endsWith(".ts")) : [];
  return [...new Set(["actors.ts", "agent.ts", ...found])].sort();
}

function runExample(name: string, node: string): string | undefined {
  if (!existsSync(join(EXAMPLES, name))) return `docs/examples/${name} does not exist`;
  const place = mkdtempSync(join(project, "example-"));
  // All of them: one example may import another.
  cpSync(EXAMPLES, place, { recursive: true });
  return complaintOf(run(node, [name], { cwd: place, path: [dirname(node)], timeoutMs: 120_000 }));
}

function types(): string | undefined {
  const place = join(project, "typed");
  mkdirSync(place);
  for (const name of ["tsconfig.json", "consumer.ts"]) cpSync(join(project, name), join(place, name));
  for (const name of examples()) if (existsSync(join(EXAMPLES, name))) cpSync(join(EXAMPLES, name), join(place, name));
  return complaintOf(run("tsc", ["-p", place, "--typeRoots", join(ROOT, "node_modules", "@types")]));
}

function versionPrinted(node: string): string | undefined {
  const ended = npm(["exec", "--offline", "--", "holdfast", "--version"], { cwd: project, path: [dirname(node)] });
  return ended.ok && ended.stdout.trim() === manifest.version ? undefined : `expected ${manifest.version}\n${ended.output}`;
}

function versionOf(node: string): readonly [number, number] {
  const [major = 0, minor = 0] = run(node, ["-p", "process.versions.node"]).stdout.trim().split(".").map(Number);
  return [major, minor];
}

function isOlder([major, minor]: readonly [number, number]): boolean {
  return major < MINIMUM[0] || (major === MINIMUM[0] && minor < MINIMUM[1]);
}

/** A Node on the path that is too old for Holdfast, if this machine has one. */
function olderNode(): string | undefined {
  const places = (process.env.PATH ?? "").split(delimiter).filter((place) => place !== "" && !place.includes("node_modules"));
  return places.map((place) => join(place, "node")).find((node) => existsSync(node) && isOlder(versionOf(node)));
}

function refusesOlderNode(node: string | undefined): string | undefined {
  if (!existsSync(bin)) return "the command is not installed";
  // Where every Node here is new enough, one is made to say that it is old.
  const pretend = `data:text/javascript,${encodeURIComponent('Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}});Object.defineProperty(process,"version",{value:"v20.0.0"})')}`;
  const ended = node === undefined ? run(process.execPath, ["--import", pretend, bin, "--version"]) : run(node, [bin, "--version"]);
  const lines = ended.output.split("\n").filter((line) => line !== "");
  if (ended.code === 2 && lines.length === 1 && /node/i.test(ended.stderr) && ended.stderr.includes(MINIMUM.join("."))) return undefined;
  return `expected exit code 2 and one line on stderr that names Node ${MINIMUM.join(".")}; got exit code ${ended.code}\n${ended.output}`;
}

function install22(node: string): string | undefined {
  const wanted = (JSON.parse(readFileSync(join(NODE22, "package.json"), "utf8")) as { dependencies: { node: string } }).dependencies.node;
  if (existsSync(node) && run(node, ["-p", "process.versions.node"]).stdout.trim() === wanted) return undefined;
  const ended = npm(["ci", "--prefix", NODE22, "--loglevel=error"]);
  return ended.ok && existsSync(node) ? undefined : `tools/node22 could not be installed\n${ended.output}`;
}

try {
  const node22 = join(NODE22, "node_modules", "node", "bin", "node");
  const nodes = [
    { name: `Node ${process.versions.node}`, node: process.execPath },
    { name: "Node 22", node: node22 },
  ];
  check(`this runs on Node 24 (${process.versions.node})`, () =>
    process.versions.node.startsWith("24.") ? undefined : "start it by `npm run`",
  );
  check("packs what is needed and nothing else", pack);
  check("publint finds nothing", () => complaintOf(run("publint", ["run", tarball(), "--strict"])));
  check("types resolve in every way an ES module can import (attw)", () =>
    complaintOf(run("attw", [tarball(), "--profile", "esm-only", "--no-color", "--no-emoji", "--no-definitely-typed"])),
  );
  check("installs into an empty project without a warning", install);
  check("a consumer and the examples type-check against it", types);
  check("Node 22 is there (tools/node22)", () => install22(node22));
  for (const { name, node } of nodes) {
    check(`\`npx holdfast --version\` on ${name}`, () => versionPrinted(node));
    check(`\`holdfast demo\` on ${name}, whose processes are the command again`, () =>
      complaintOf(run(node, [bin, "demo", ROOT], { cwd: project, env: { TMPDIR: folder }, timeoutMs: 120_000 })),
    );
    for (const example of examples()) check(`docs/examples/${example} on ${name}`, () => runExample(example, node));
  }
  const old = olderNode();
  check(`an older Node is refused in one line with exit code 2 (${old === undefined ? "pretended" : versionOf(old).join(".")})`, () =>
    refusesOlderNode(old),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
conclude(passed, failed, `package checks in ${Math.round((performance.now() - started) / 1000)} s`);
