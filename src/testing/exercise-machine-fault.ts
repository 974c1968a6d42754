/** Store faults: a store that fails where a test says, as one does that is busy, full, or cannot be read. */

import { engineError } from "../actor/error.ts";
import type { Store, StoreReader, StoreWriter } from "../actor/store.ts";

/** `busy`: the transaction does not begin. `full`: its nth write fails. `unreadable`: its nth read fails. */
export interface StoreFault {
  readonly kind: "busy" | "full" | "unreadable";
  readonly nth: number;
  /** Which transaction from now on. Default 1, the next. */
  readonly transaction?: number;
}

/** Makes one transaction of a store fail. */
export interface StoreFaults {
  /** The store, to be given to an engine. */
  around(store: Store): Store;
  /** That transaction fails so, where it comes that far. */
  arm(fault: StoreFault): void;
  /** How many transactions have failed. */
  readonly failed: number;
}

const WRITES = /^(put|append|advance|delete|rest)/;

/** A new plan, under which nothing fails. */
export function storeFaults(): StoreFaults {
  let armed: StoreFault | undefined;
  /** Transactions up to the one that is meant. */
  let until = 0;
  let failed = 0;
  const fail = (fault: StoreFault): never => {
    armed = undefined;
    failed++;
    throw engineError("storage_failed", `the store is ${fault.kind}`);
  };
  const failing = (writer: StoreWriter, fault: StoreFault): StoreWriter => {
    let left = fault.nth;
    return new Proxy(writer, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        const isMeant = WRITES.test(String(name)) === (fault.kind === "full");
        return (...args: unknown[]) => (isMeant && --left === 0 ? fail(fault) : value.apply(target, args));
      },
    });
  };
  return {
    around: (store) =>
      new Proxy(store, {
        get(target, name) {
          const value = Reflect.get(target, name, target);
          if (name !== "write") return typeof value === "function" ? value.bind(target) : value;
          return <T>(epoch: number, body: (writer: StoreWriter) => T): T => {
            const fault = armed && --until === 0 ? armed : undefined;
            if (fault?.kind === "busy") fail(fault);
            const result = target.write(epoch, (writer) => body(fault ? failing(writer, fault) : writer));
            if (fault) armed = undefined;
            return result;
          };
        },
      }),
    arm: (fault) => {
      armed = fault;
      until = fault.transaction ?? 1;
    },
    get failed() {
      return failed;
    },
  };
}

/** Everything that can be read of a store, as text: equal where nothing was changed. */
export function dump(reader: StoreReader): string {
  const page = { limit: 1000 };
  const lists = [reader.actors({}, page), reader.entries(page), reader.effects({}, page), reader.timers({}, page)];
  return JSON.stringify([...lists, reader.deadLetters({}, page), reader.blobs(page)]);
}
