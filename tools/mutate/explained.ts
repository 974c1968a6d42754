/**
 * Explained: mutants that no test can notice, each with the reason. `npm run mutate` fails where one of them is noticed after all, or is
 * no mutant any more. A thing of a machine that can be explained away is better taken out of it.
 */

export const EXPLAINED: Readonly<Record<string, string>> = {};
