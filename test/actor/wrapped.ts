/** Stores that behave otherwise than they do, to look at what the engine makes of it. */

import type { JournalRow, Store, StoreWriter } from "../../src/actor/store.ts";

/** A store whose writers have these methods in the place of their own. */
export function withWriters(store: Store, over: (writer: StoreWriter) => Partial<StoreWriter>): Store {
  return wrapped(store, { write: (epoch, body) => store.write(epoch, (writer) => body(wrapped(writer, over(writer)))) });
}

/** Entries to append, but for the one at this index; all of them where it is -1. */
export function without(lost: number, rows: readonly JournalRow[], before: readonly number[]): [JournalRow[], number[]] {
  const isKept = (_: unknown, index: number) => index !== lost;
  return [rows.filter(isKept), before.filter(isKept)];
}

function wrapped<T extends object>(inner: T, over: Partial<T>): T {
  return new Proxy(inner, {
    get(target, key) {
      const value = Reflect.get(key in over ? over : target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
