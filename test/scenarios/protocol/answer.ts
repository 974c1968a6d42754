/** What a person is told who wants something of a turn: that it is so, or why not. */

import type { Wish } from "../decision.ts";

/** True where `told`, a value or a code, is the answer to a wish that was taken, or to one that was not. */
export function isAnswer(wish: Wish, told: unknown, isTaken: boolean): boolean {
  switch (wish) {
    case "request":
      return isTaken ? told === "accepted" : isCode(told);
    case "commit":
    case "cancel":
      return isTaken ? told === true : told === false || isCode(told);
    case "stop":
      return isTaken ? told === undefined : isCode(told);
    case "resume":
      // Begun, it may still end with a code.
      return isTaken || isCode(told);
    case "recover":
      return true;
  }
}

const isCode = (told: unknown): boolean => typeof told === "string" && told !== "accepted";
