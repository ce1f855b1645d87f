import { describe, expect, it } from "vitest";
import { testedOptions } from "../../scripts/tested-options.mjs";
import { isLong } from "../support/long.js";

/** Options that no test can give, and members of types that are results, with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  "maxSessionMemory of http2": "Node's HTTP/2 library enforces it, and does not document what it counts",
  "transactionTimeout of LogBrokerConfig": "the broker enforces it, a second at least after a process has died",
  "replicas of LogBrokerConfig": "a cluster of one broker has one replica of each topic",
  "clientId of LogBrokerConfig": "a name in the log of the broker alone",
  "openapi of ListRouteOptions": "made by listOptions()",
  "response of ListRouteOptions": "made by listOptions()",
  "responses of ListRouteOptions": "made by listOptions()",
  "nullsNotDistinct of IndexState": "written by the commands of migrations",
  "matchFull of CompositeOptions": "written by introspection, with a schema that has it",
  "matchFull of ForeignKeyState": "written by the commands of migrations",
  "sentinelPassword of KvStoreConfig": "made by the Sentinels of its test",
  "singleActiveConsumer of a topic of AmqpConfig": "given by the name of a topic of the test",
};

// The compiler reads all tests for it.
describe.skipIf(!isLong)("options", () => {
  it("Every option is given another value than its default in a test, except for those listed here", () => {
    const untested = [...testedOptions()].filter(([, files]) => files.length === 0).map(([option]) => option);
    expect(untested.sort()).toEqual(Object.keys(exceptions).sort());
  }, 1_800_000);
});
