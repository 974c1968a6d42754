/**
 * Copied names: what the runs of a source session, their calls and their questions are called in a copy.
 *
 * Guarantees: each run of the source has one name, that of the run which holds its turn; call ids stay unique within that run, also
 * where two runs of one turn made calls of the same id; the same source and the same new ids give the same names.
 * Refuses to look into messages, arguments and results: what they say is content.
 */

import type { CopiedFact } from "../../machines/run-schema.ts";
import { sha256 } from "../actor/json.ts";
import { agentError } from "./error.ts";

/** Characters of an id, as the machines take it. */
const ID_LIMIT = 256;

/** One run of the source, in the copy. */
interface Member {
  /** The run that holds its turn. */
  readonly runId: string;
  /** Its place in its turn; 0 is the root run. */
  readonly place: number;
  readonly calls: Map<string, string>;
  /** Call ids of the whole turn that are given. */
  readonly used: Set<string>;
}

/** The names of one copy, given turn by turn in their order. */
export class CopiedNames {
  readonly #members = new Map<string, Member>();

  /** A turn of the source by its runs, and the one run that holds it in the copy. */
  addTurn(runId: string, members: readonly string[]): void {
    const used = new Set<string>();
    for (const [place, member] of members.entries()) this.#members.set(member, { runId, place, calls: new Map(), used });
  }

  /** A fact of a run of the source, with the names of the copy. Throws `journal_damaged` where it names a run that is none of the source's. */
  rewritten(runId: string, fact: CopiedFact): CopiedFact {
    switch (fact.type) {
      case "message.added":
        return fact;
      case "permission.decided":
        return { ...fact, interactionId: this.#question(runId, fact.interactionId) };
      case "tool.reconciled": {
        const of = this.#member(fact.of);
        return { ...fact, of: of.runId, callId: callIn(of, fact.callId) };
      }
      default:
        return { ...fact, callId: callIn(this.#member(runId), fact.callId) };
    }
  }

  #member(runId: string): Member {
    const member = this.#members.get(runId);
    if (!member) throw agentError("journal_damaged", `a call of the run ${runId} is told of, which is none of the session before it`);
    return member;
  }

  /** `<run>.<name>`, where the run is the one that asked: not always the one that was answered. */
  #question(answered: string, interactionId: string): string {
    const dot = interactionId.lastIndexOf(".");
    const asked = [...prefixes(interactionId)].find((prefix) => this.#members.has(prefix));
    const name = asked === undefined ? interactionId.slice(dot + 1) : interactionId.slice(asked.length + 1);
    const { runId, place } = this.#member(asked ?? answered);
    return fitting(`${runId}.${placed(place, name)}`, `${runId}.${sha256(interactionId)}`);
  }
}

/** Everything before a dot, longest first: names and runs may have dots themselves. */
function* prefixes(id: string): Generator<string> {
  for (let dot = id.lastIndexOf("."); dot > 0; dot = id.lastIndexOf(".", dot - 1)) yield id.slice(0, dot);
}

function callIn({ place, calls, used }: Member, callId: string): string {
  const known = calls.get(callId);
  if (known !== undefined) return known;
  const first = fitting(placed(place, callId), placed(place, sha256(callId)));
  let name = first;
  // A program may name its calls as it likes, also as a copy would.
  for (let count = 2; used.has(name); count++) name = fitting(`${first}/${count}`, placed(place, sha256(`${callId}/${count}`)));
  calls.set(callId, name);
  used.add(name);
  return name;
}

/** Names of the root run stay as they are; the second run's `1.1` is `2/1.1`. */
function placed(place: number, name: string): string {
  return place === 0 ? name : `${place + 1}/${name}`;
}

function fitting(name: string, otherwise: string): string {
  return name.length <= ID_LIMIT ? name : otherwise;
}
