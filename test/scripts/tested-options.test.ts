import { describe, expect, it } from "vitest";
import { testedOptions } from "../../scripts/tested-options.mjs";

/** Options that no test can give, with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  "maxSessionMemory of http2": "Node's HTTP/2 library enforces it, and does not document what it counts",
  "transactionTimeout of LogBrokerConfig": "the broker enforces it, a second at least after a process has died",
};

describe("options", () => {
  it("Every option is given another value than its default in a test, except for those listed here", () => {
    const untested = [...testedOptions()].filter(([, files]) => files.length === 0).map(([option]) => option);
    expect(untested.sort()).toEqual(Object.keys(exceptions).sort());
  });
});
