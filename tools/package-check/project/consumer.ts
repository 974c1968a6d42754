/** A program that embeds the installed package: every subpath resolves, and what it exports has types of its own. */

import * as runtime from "holdfast";
import type * as actors from "holdfast/actors";
import type * as machines from "holdfast/machines";
import type * as testing from "holdfast/testing";

type Known<T> = 0 extends 1 & T ? never : true;

const known: [
  Known<typeof runtime.openHoldfast>,
  Known<typeof actors.openActors>,
  Known<(typeof machines.machines)[number]>,
  Known<keyof typeof testing>,
] = [true, true, true, true];

const error: actors.HoldfastError = new runtime.HoldfastError("closed", "closed");
const code: string = error.code;
// @ts-expect-error: a code is a string
const wrong: number = error.code;

export { code, known, wrong };
