/** Pays an order in a process that dies where its parent says: `kill-child.ts ROOT POINT`. Without a point it comes to its end. */

// ---
import { openActors } from "holdfast/actors";
import { type FaultPoint, killAt } from "holdfast/testing";
import { order } from "./order.ts";

const [root = "./state", point] = process.argv.slice(2);
const chargeCard = async ({ key }: { key: string }) => {
  console.log(key); // the parent reads it, also of a process that was killed
  return `receipt of ${key}`;
};
const probe = point ? { probe: killAt(point as FaultPoint) } : {};
const actors = await openActors({ root, machines: [order], effects: { chargeCard }, ...probe });
const one = actors.get(order, "one") ?? (await actors.create(order, "one", { input: { total: 10 } }));
await one.send({ type: "order.pay" }, { key: "pay" });
await one.waitFor((snapshot) => snapshot.matches("paid"));
await actors.close();
