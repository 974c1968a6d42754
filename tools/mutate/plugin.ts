/** Plugin: gives the tests `standIn(machine)` for each machine, without a word about it in the machines' own files. */

import { join } from "node:path";
import type { Plugin } from "vitest/config";
import { ROOT } from "../command.ts";

/** The exported name of each machine, by the path of its file. */
const exportedBy = (machine: string): string => machine.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** A plugin of Vite for the machines of these ids. */
export function standInPlugin(machines: readonly string[]): Plugin {
  const names = new Map(machines.map((id) => [join(ROOT, "machines", `${id}.ts`), exportedBy(id)]));
  return {
    name: "holdfast-mutate",
    enforce: "pre",
    transform(code, file) {
      const name = names.get(file);
      if (name === undefined) return null;
      const parts = code.split(`export const ${name} = `);
      if (parts.length !== 2) throw new Error(`${file} does not export ${name} once`);
      const standIn = JSON.stringify(join(ROOT, "tools", "mutate", "stand-in.ts"));
      return [`import { standIn } from ${standIn};\n${parts[0]}const whole = ${parts[1]}`, `export const ${name} = standIn(whole);\n`].join(
        "\n",
      );
    },
  };
}
