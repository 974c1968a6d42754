/** The state root of another program, with one of everything that waits for somebody. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Engine, openActors } from "../../src/actors.ts";
import { type FaultPoints, faultPoints } from "../../src/testing/index.ts";
import { committed } from "../actor/held.ts";
import { temporaryFolder } from "../backend/survey/folder.ts";
import { order } from "./order.ts";

/** Of the module that exports the machine. */
export const ORDER_FILE = fileURLToPath(new URL("order.ts", import.meta.url));

const declined = () => Promise.reject(Object.assign(new Error("the bank said no"), { code: "declined", retryable: false }));

/** Opens a root as its owner; every charge is declined, parcels never end. */
export function openShop(root: string, { probe }: FaultPoints = faultPoints()): Promise<Engine> {
  const effects = { charge: declined, parcel: () => new Promise<never>(() => {}), label: async () => null };
  return openActors({ root, machines: [order], effects, probe, closeGraceMs: 0 });
}

/** A root that nobody owns. `order-exhausted` waits for a person, `order-aside` is set aside, `order-open` has a timer, `order-ended` has ended. */
export async function shop(): Promise<string> {
  const root = join(temporaryFolder(), "root");
  const points = faultPoints();
  await using engine = await openShop(root, points);
  const make = (id: string) => engine.create(order, id, { input: { total: 5 } });
  const exhausted = await make("order-exhausted");
  await exhausted.send({ type: "order.pay" });
  await make("order-aside");
  const open = await make("order-open");
  for (const to of ["order/order-aside", "order/order-aside", "order/nobody"]) await open.send({ type: "order.note", to });
  await (await make("order-ended")).send({ type: "order.cancel" });
  await committed(points, () => engine.effects({ state: "exhausted" }).length === 1);
  return root;
}
