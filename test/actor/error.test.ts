import { describe, expect, it } from "vitest";
import { codeOf, ENGINE_CODES, engineError, HoldfastError, messageOf } from "../../src/actor/error.ts";

describe("an error of the engine", () => {
  it("says that the same call may succeed later for these codes, and for no others", () => {
    const codes = Object.keys(ENGINE_CODES).filter((code) => new HoldfastError(code, "").retryable);
    const among = [
      "effect_at_work",
      "effect_failed",
      "effect_timeout",
      "expectation_failed",
      "mailbox_full",
      "root_owned",
      "storage_failed",
    ];
    expect(codes.sort()).toEqual(among);
  });

  it.each<[string, { code: string; retryable?: boolean }, boolean]>([
    ["that nobody registered is not retryable", { code: "shop_closed" }, false],
    ["of a handler's own is retryable where it says so", { code: "shop_closed", retryable: true }, true],
    ["is not retryable where it says so", { code: "storage_failed", retryable: false }, false],
  ])("with a code %s", (_, { code, ...options }, isRetryable) => {
    expect(new HoldfastError(code, "", options).retryable).toBe(isRetryable);
  });

  it("has its name, code, message, details and cause, and no cause where none is given", () => {
    const given = { cause: new Error("disk"), details: { path: "a.b" } };
    const error = engineError("storage_failed", "it failed", given);
    expect(error).toMatchObject({ name: "HoldfastError", code: "storage_failed", message: "it failed", ...given });
    const plain = engineError("closed", "");
    expect([plain.details, "cause" in plain]).toEqual([{}, false]);
  });
});

describe("what a thrown value says", () => {
  const unspeakable = {
    get message() {
      throw new Error("never");
    },
  };

  it.each<[string, unknown, string]>([
    ["an error", new Error("no"), "no"],
    ["an error whose message is no text", Object.assign(new Error(), { message: 5 }), "5"],
    ["an object with a message", { message: "no" }, "no"],
    ["an object with a message that is no text", { message: 5, toString: () => "itself" }, "itself"],
    ["a text", "no", "no"],
    ["nothing", undefined, "undefined"],
    ["null", null, "null"],
    ["text that is longer than is kept", "x".repeat(2001), "x".repeat(2000)],
    ["text that is cut within a letter", `${"x".repeat(1999)}😀`, `${"x".repeat(1999)}\uFFFD`],
  ])("is text that can be stored: %s", (_, thrown, said) => {
    expect(messageOf(thrown)).toBe(said);
  });

  it.each<[string, unknown]>([
    ["whose message cannot be read", unspeakable],
    ["that cannot be made a text", Object.create(null)],
  ])("is some text also of a value %s", (_, thrown) => {
    expect(messageOf(thrown)).toMatch(/./);
  });
});

describe("the code of a thrown value", () => {
  it.each([["a"], ["shop_closed"], ["shop.closed-2"], ["a".repeat(128)]])("is its own where events can take it: %s", (code) => {
    expect(codeOf(new HoldfastError(code, ""), "effect_failed")).toBe(code);
  });

  it.each([[""], ["_a"], ["Shop"], ["2shops"], ["shopClosed"], ["shop closed"], [" shop"], ["shop\n"], ["a".repeat(129)]])(
    "is another where events cannot: %j",
    (code) => {
      expect(codeOf(new HoldfastError(code, ""), "effect_failed")).toBe("effect_failed");
    },
  );

  it.each<[string, unknown]>([
    ["an error of another kind", Object.assign(new Error("no"), { code: "enoent" })],
    ["a text", "enoent"],
    ["nothing", undefined],
  ])("is another for %s", (_, thrown) => {
    expect(codeOf(thrown, "effect_failed")).toBe("effect_failed");
  });
});
