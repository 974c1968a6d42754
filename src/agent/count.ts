/** Count: numbers with what they count, for people. Whoever says how many there are says it so. */

const counts = new Intl.NumberFormat("en-US");

/** `12,345` */
export function countOf(value: number): string {
  return counts.format(value);
}

/** `1 file`, `2 files`, `2 journal entries`, `2 crashes`; the noun is given for one. */
export function plural(count: number, noun: string): string {
  return `${countOf(count)} ${count === 1 ? noun : pluralOf(noun)}`;
}

function pluralOf(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return `${noun}${/(s|sh|ch|x)$/.test(noun) ? "es" : "s"}`;
}
