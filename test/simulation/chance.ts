/** Chance: the one source of randomness of a simulation. It is seeded, and splits into sources of their own by name. */

import { hash } from "node:crypto";

/** Draws that depend on nothing but the seed and on how many came before. */
export class Chance {
  readonly #name: string;
  readonly #state: Uint32Array;

  constructor(name: string) {
    this.#name = name;
    const digest = hash("sha256", name, "buffer");
    this.#state = Uint32Array.from([0, 4, 8, 12], (at) => digest.readUInt32LE(at));
  }

  /** A source of its own: what is drawn from it depends on its name and on no draw here. */
  split(name: string): Chance {
    return new Chance(`${this.#name}/${name}`);
  }

  /** 0 or more, below 1 (sfc32). */
  next(): number {
    const s = this.#state as Uint32Array & [number, number, number, number];
    const sum = (s[0] + s[1] + s[3]) | 0;
    s[3] += 1;
    s[0] = s[1] ^ (s[1] >>> 9);
    s[1] = s[2] + (s[2] << 3);
    s[2] = ((s[2] << 21) | (s[2] >>> 11)) + sum;
    return (sum >>> 0) / 4_294_967_296;
  }

  /** A whole number from 0, below `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** True as often as `share` of 1 says. */
  of(share: number): boolean {
    return this.next() < share;
  }

  /** One of a list; undefined where there is none. */
  pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }

  /** One of a table's names, each as often as its weight says; undefined where all weights are 0. */
  weighted<Name extends string>(table: Readonly<Partial<Record<Name, number>>>): Name | undefined {
    const entries = Object.entries(table) as [Name, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      if (left < weight) return name;
      left -= weight;
    }
    return undefined;
  }
}
