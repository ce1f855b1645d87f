import { expect, it } from "vitest";
import type { KafkaClients } from "../../../src/engines/messaging/kafka/clients.js";
import { GroupOffsets } from "../../../src/engines/messaging/kafka/group/group-offsets.js";
import type { KafkaClientConsumer } from "../../../src/engines/messaging/kafka/library.js";

it("A member that the broker did not tell its APIs once commits and reads offsets afterwards", async () => {
  const sent: string[] = [];
  const offsets = { partitionIndex: 0, committedOffset: 7n, metadata: "" };
  const apis = (name: string, response: unknown) => {
    const call = async () => {
      sent.push(name);
      return response;
    };
    return [[1, { api: { async: call } }]];
  };
  const clients = {
    offsetApis: {
      commit: apis("commit", {}),
      fetch: apis("fetch", { groups: [{ topics: [{ partitions: [offsets] }] }] }),
    },
    connectionPool: () => ({ get: async () => ({}), close: async () => {} }),
  };
  let failures = 2;
  const consumer = {
    groupId: "g",
    coordinatorId: 1,
    metadata: async () => ({ brokers: new Map([[1, { host: "a", port: 1 }]]) }),
    listApis: async () => {
      if (failures-- > 0) throw new Error("the connection is lost");
      return ["OffsetCommit", "OffsetFetch"].map((name) => ({ name, minVersion: 0, maxVersion: 9 }));
    },
  };
  const group = new GroupOffsets(
    clients as unknown as KafkaClients,
    consumer as unknown as KafkaClientConsumer,
    "orders",
  );
  const commit = () => group.commit(new Map([[0, { offset: 7n, metadata: "" }]]) as never);
  const read = () => group.fetch([0], { stable: false });
  await expect(commit()).rejects.toThrow("the connection is lost");
  await expect(read()).rejects.toThrow("the connection is lost");
  await commit();
  expect(await read()).toEqual(new Map([[0, { offset: 7n, metadata: null }]]));
  expect(sent).toEqual(["commit", "fetch"]);
});
