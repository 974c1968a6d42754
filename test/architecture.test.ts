import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type AnyStateMachine, type AnyStateNode, createMachine } from "xstate";
import { plural } from "../src/agent/count.ts";
import {
  declarations,
  isDocumented,
  longFunctions,
  places,
  publicExports,
  reachable,
  type SourceFile,
  sourceFile,
  sources,
} from "../tools/architecture/scan.ts";
import { loadSource } from "../tools/docs/source.ts";
import { filesBelow, read } from "../tools/docs/tree.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const shipped = sources(root, "machines", "src");
const tests = sources(root, "test");
const { machines, codes } = loadSource();
const packageJson = JSON.parse(read(root, "package.json")) as {
  exports: Record<string, string | { types: string; default: string }>;
  dependencies: Record<string, string>;
};

/** What each layer may import: layers of ours, and packages beyond Node's own modules. */
const LAYERS: Record<string, { readonly layers: readonly string[]; readonly packages: readonly string[] }> = {
  machines: { layers: ["machines"], packages: ["xstate", "zod"] },
  "src/actor": { layers: ["src/actor"], packages: ["xstate", "zod", "effect", "canonicalize", "uuid"] },
  "src/store": { layers: ["src/store", "src/actor"], packages: ["better-sqlite3", "zod", "uuid"] },
  "src/agent": { layers: ["src/agent", "src/actor", "machines"], packages: ["xstate", "zod", "effect", "uuid"] },
  "src/backend": { layers: ["src/backend", "src/agent", "src/actor"], packages: ["zod"] },
  "src/host": { layers: ["src", "machines"], packages: ["xstate", "zod", "effect", "uuid"] },
  "src/testing": { layers: ["src", "machines"], packages: ["xstate", "zod", "effect", "uuid", "@xstate/graph"] },
  "src/cli": { layers: ["src", "machines"], packages: ["commander", "zod"] },
  // The composition roots.
  src: { layers: ["src", "machines"], packages: ["xstate", "zod", "effect"] },
};

function layerOf(path: string): string {
  const folders = path.split("/").slice(0, -1);
  return folders[0] === "src" ? folders.slice(0, 2).join("/") : (folders[0] ?? "");
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

function everywhere(files: readonly SourceFile[], pattern: RegExp, where: "code" | "comments" = "code"): string[] {
  return files.flatMap((file) => places(file, pattern, where));
}

function nodesOf(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap((child) => nodesOf(child as AnyStateNode))];
}

describe("layers", () => {
  it("imports point one way", () => {
    const wrong = shipped.flatMap((file) => {
      const allowed = LAYERS[layerOf(file.path)];
      if (!allowed) return [`${file.path}: no layer of that name`];
      return file.imports
        .filter(({ path, specifier }) =>
          path === undefined
            ? !specifier.startsWith("node:") && !allowed.packages.includes(packageOf(specifier))
            : !allowed.layers.some((layer) => isWithin(path, layer)),
        )
        .map(({ specifier }) => `${file.path} imports ${specifier}`);
    });
    expect(wrong).toEqual([]);
  });

  it("machines import no module of Node", () => {
    const wrong = sources(root, "machines").flatMap((file) =>
      file.imports.filter(({ specifier }) => specifier.startsWith("node:")).map(() => file.path),
    );
    expect(wrong).toEqual([]);
  });

  it("only the command imports the command", () => {
    const outside = shipped.filter((file) => !isWithin(file.path, "src/cli"));
    const wrong = outside.flatMap((file) =>
      file.imports.filter(({ path }) => path !== undefined && isWithin(path, "src/cli")).map(() => file.path),
    );
    expect(wrong).toEqual([]);
  });

  it("the engine alone carries nothing of agents, machines, backends or the command", () => {
    const foreign = [...reachable(root, "src/actors.ts")].filter(
      // How a machine addresses the engine is told beside the machines, for these may import nothing of ours.
      (path) => !["src/actors.ts", "machines/action.ts", "machines/infer.ts"].includes(path) && !/^src\/(actor|store)\//.test(path),
    );
    expect(foreign).toEqual([]);
  });

  it("every relative import names an existing file with its extension", () => {
    const wrong = [...shipped, ...tests].flatMap((file) =>
      file.imports
        .filter(({ path }) => path !== undefined && !existsSync(join(root, path)))
        .map(({ specifier }) => `${file.path} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  it("every package that is imported is a dependency, and every dependency is imported", () => {
    const used = new Set(
      shipped.flatMap((file) =>
        file.imports
          .filter(({ path, specifier }) => path === undefined && !specifier.startsWith("node:"))
          .map(({ specifier }) => packageOf(specifier)),
      ),
    );
    expect([...used].sort()).toEqual(Object.keys(packageJson.dependencies).sort());
  });
});

describe("layout", () => {
  it("the top level holds only what it should", () => {
    const allowed =
      /^(machines|src|test|docs|bench|tools|\.ci|package(-lock)?\.json|(README|CHANGELOG|CONTRIBUTING)\.md|LICENSE|tsconfig(\.build)?\.json|biome\.json|vitest\.config\.ts|\.npmrc|\.gitignore|\.gitattributes|\.git|node_modules|dist|coverage|\.vitest|\.holdfast)$/;
    expect(readdirSync(root).filter((name) => !allowed.test(name))).toEqual([]);
  });

  it("files and folders are named for what they hold", () => {
    const banned = /(^|[/.-])(utils?|helpers?|common|misc|types?|managers?|coordinators?|kernels?|services?)([/.-]|$)/;
    expect([...shipped, ...tests].map((file) => file.path).filter((path) => banned.test(path))).toEqual([]);
  });

  it("no declaration is a manager, coordinator, kernel, service, helper or util", () => {
    const banned = /(manager|coordinator|kernel|service|helper|utils?)(?![a-z])/i;
    expect(
      shipped.flatMap((file) =>
        declarations(file)
          .filter((name) => banned.test(name))
          .map((name) => `${file.path}: ${name}`),
      ),
    ).toEqual([]);
  });

  it("no file is longer than 300 lines", () => {
    // A registry of codes is a table, and grows by rows; so does the list of schemas.
    const tables = /\/(error|store\/schema)\.ts$/;
    const long = shipped.filter((file) => !tables.test(file.path) && file.text.split("\n").length > 301);
    expect(long.map((file) => file.path)).toEqual([]);
  });

  it("no function is longer than 70 lines", () => {
    // The promises of the conformance suite are tables, and grow by rows.
    const files = shipped.filter((file) => !/^src\/testing\/exercise-store/.test(file.path));
    expect(files.flatMap((file) => longFunctions(file, 70))).toEqual([]);
  });

  it("no file names a place on one machine or a package registry", () => {
    const place = new RegExp(`(?<![\\w.])/(${["home", "Users", "root", "work"].join("|")})/[\\w.-]+`, "g");
    const registry = new RegExp(`https?://[^\\s"')]*(${["registry", "artifactory", "npmmirror", "verdaccio"].join("|")})`, "gi");
    const wrong = filesBelow(root)
      .filter((path) => /\.(ts|md|json|ya?ml|sh)$|^\.ci\/|^\.npmrc$/.test(path))
      .flatMap((path) =>
        [place, registry].flatMap((pattern) => [...read(root, path).matchAll(pattern)].map((match) => `${path}: ${match[0]}`)),
      );
    expect(wrong).toEqual([]);
  });
});

describe("lifecycle", () => {
  it("nothing outside the machines compares a state by its name", () => {
    const keys = [...new Set(machines.flatMap((machine) => nodesOf(machine.root).map((node) => node.key)))];
    const files = sources(root, "src/agent", "src/backend", "src/cli", "src/host");
    const pattern = new RegExp(`\\.(status|value|state)\\s*[!=]==?\\s*["'](${keys.join("|")})["']|\\.matches\\(\\s*["'{]`);
    expect(everywhere(files, pattern)).toEqual([]);
  });

  it("only the transition knows how XState writes an action, and one table how it names its events", () => {
    const knowing = ["src/actor/action.ts", "src/actor/transition.ts", "src/actor/xstate-event.ts"];
    const files = sources(root, "src").filter((file) => !knowing.includes(file.path));
    expect(everywhere(files, /["'`]xstate\.[a-z][\w.]*/)).toEqual([]);
  });

  it("time and randomness come from the clock, never from a machine or the engine", () => {
    const files = sources(root, "machines", "src/actor").filter((file) => file.path !== "src/actor/clock.ts");
    expect(everywhere(files, /\b(Date\.now|Math\.random|new Date|performance\.now|randomUUID|setInterval)\b/)).toEqual([]);
  });

  it("only the command writes to the console, and the kit what a proof covered", () => {
    expect(
      everywhere(
        sources(root, "src", "machines").filter(({ path }) => !isWithin(path, "src/cli") && path !== "src/testing/exercise-machine-sum.ts"),
        /\bconsole\.\w+|\bprocess\.std(out|err)\b/,
      ),
    ).toEqual([]);
  });
});

describe("messages", () => {
  it("what is counted agrees with its number", () => {
    // What the engine says of a size or a count, it says where that is beyond a limit.
    const files = sources(root, "src", "tools").filter(({ path }) => !/^src\/(actor|store)\//.test(path));
    const said = files.flatMap(({ code }) => [...code.matchAll(/\bplural\([^"`]*"([^"]+)"\)/g)].map((match) => match[1] as string));
    const nouns = [...new Set([...said, "state", "timer", "effect", "handler", "character", "entry"])].map((noun) =>
      plural(2, noun).slice(2),
    );
    // A bound with a name is never one.
    const pattern = new RegExp(`\\$\\{(?![A-Z_]+\\})[^{}\\n]*\\} (?:${nouns.join("|")})\\b|\\w\\(e?s\\) `);
    expect(everywhere(files, pattern)).toEqual([]);
  });
});

describe("comments", () => {
  it("what is left to do names its issue", () => {
    expect(
      everywhere(
        [...shipped, ...tests, ...sources(root, "tools", "bench")],
        /(?:\/\/|\/\*+|^\s*\*)\s*(?:TODO|FIXME|XXX|HACK)\b(?![^\n]*#\d)[^\n]*/m,
        "comments",
      ),
    ).toEqual([]);
  });

  it("every file of the source opens with what it owns", () => {
    const silent = shipped.filter((file) => !/^(#![^\n]*\n)?\/\*\*/.test(file.text));
    expect(silent.map((file) => file.path)).toEqual([]);
  });
});

describe("tests", () => {
  it("no test is skipped or run alone", () => {
    expect(everywhere(tests, /\b(?:it|test|describe|suite)\.(?:only|skip|todo|fails)\b/)).toEqual([]);
  });

  it("no test waits for time to pass", () => {
    const waits = [
      /\bawait\b[^;]*\bsetTimeout\s*\(/,
      /new Promise(?:<\w+>)?\(\(?(\w+)\)? => (?:\{ )?setTimeout\(\1\b/,
      /\bimport \{[^}]*\bsetTimeout\b[^}]*\} from ["'](?:node:)?timers\/promises["']/,
      /\bsleep\s*\(|\bAtomics\.wait\s*\(/,
    ];
    expect(waits.flatMap((pattern) => everywhere(tests, pattern))).toEqual([]);
  });

  it("test names are promises, not intentions", () => {
    expect(everywhere(tests, /\b(?:it|test)\(\s*["'`]should\b/)).toEqual([]);
  });
});

describe("public API", () => {
  const entries = Object.entries(packageJson.exports).flatMap(([subpath, target]) =>
    typeof target === "string" ? [] : [{ subpath, target, source: target.default.replace("./dist/", "").replace(/\.js$/, ".ts") }],
  );

  it.each(entries)("$subpath leads to a source file and to its types", ({ target, source }) => {
    expect(existsSync(join(root, source))).toBe(true);
    expect(target.types).toBe(target.default.replace(/\.js$/, ".d.ts"));
  });

  it.each(entries)("every export of $subpath has a docstring", ({ source }) => {
    const exports = publicExports(root, source);
    expect(exports.length).toBeGreaterThan(0);
    expect(exports.filter((one) => !isDocumented(root, one)).map((one) => `${one.path}: ${one.name}`)).toEqual([]);
  });

  it("every registered code is given somewhere, expected by a test, and registered once", () => {
    const all = codes.flatMap((part) => Object.keys(part.codes));
    expect(all.filter((code, index) => all.indexOf(code) !== index)).toEqual([]);
    const text = shipped
      .filter((file) => !/\/error\.ts$/.test(file.path))
      .map((file) => file.code)
      .join("\n");
    expect(all.filter((code) => !new RegExp(`["'\`]${code}["'\`]`).test(text))).toEqual([]);
    const expected = tests.map((file) => file.code).join("\n");
    expect(
      all.filter((code) => !new RegExp(`\\b${code}\\b`).test(expected)),
      "codes that no test expects",
    ).toEqual([]);
  });
});

describe("machines", () => {
  const table = machines.map((machine) => ({ id: machine.id, machine }));

  it("there is one file per machine, named as the machine", () => {
    expect(table.filter(({ id }) => !existsSync(join(root, `machines/${id}.ts`)))).toEqual([]);
    expect(table.length).toBeGreaterThan(0);
  });

  it.each(table)("$id opens from plain data with all of its states", ({ machine }) => {
    const plain = JSON.parse(
      JSON.stringify(machine.config, (_, value) => (typeof value === "function" ? { type: String(value.type ?? value.name) } : value)),
    );
    const opened: AnyStateMachine = createMachine(plain);
    expect(nodesOf(opened.root).map((node) => node.id)).toEqual(nodesOf(machine.root).map((node) => node.id));
  });

  it.each(table)("$id is made by setup() and createMachine() in one plain statement", ({ id }) => {
    expect(sourceFile(root, `machines/${id}.ts`).code).toMatch(/\bsetup\(\{[\s\S]*\}\)\s*(?:\.extend\([\s\S]*\)\s*)?\.createMachine\(\{/);
  });

  it.each(table)("$id has a version, and says what is known in each of its states", ({ machine }) => {
    expect((machine.config as { version?: string }).version).toMatch(/^\d+(\.\d+){0,2}$/);
    expect(
      nodesOf(machine.root)
        .filter((node) => !node.description)
        .map((node) => node.id),
    ).toEqual([]);
  });
});
