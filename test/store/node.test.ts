import { describe, expect, it } from "vitest";
import { demandNode } from "../../src/store/node.ts";

describe("a Node", () => {
  it.each(["20.20.2", "22.18.9", "18.0.0"])("of version %s is refused before the SQLite binding is loaded", (version) => {
    expect(() => demandNode(version)).toThrow(
      expect.objectContaining({ code: "node_unsupported", message: expect.stringContaining(version) }),
    );
  });

  it.each(["22.19.0", "24.0.1", process.versions.node])("of version %s is taken", (version) => {
    expect(() => demandNode(version)).not.toThrow();
  });
});
