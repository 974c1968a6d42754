import { expect, it } from "vitest";
import { refused } from "../../src/actor/answer.ts";

it("a refusal names the field that was wrong, and none where there was none", () => {
  expect(refused("event_invalid", "no", "$.by")).toStrictEqual({ kind: "refused", code: "event_invalid", message: "no", path: "$.by" });
  expect(refused("actor_final", "no")).toStrictEqual({ kind: "refused", code: "actor_final", message: "no" });
});
