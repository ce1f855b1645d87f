/** The cases of the interoperability tests of gRPC, made with Stoa's client (doc/interop-test-descriptions.md of grpc). */
import assert from "node:assert/strict";

const initial = "x-grpc-test-echo-initial";
const trailing = "x-grpc-test-echo-trailing-bin";
const pairs = [
  [31_415, 27_182],
  [9, 8],
  [2653, 1828],
  [58_979, 45_904],
];
const payload = (size) => ({ body: new Uint8Array(size) });
const large = { responseSize: 314_159, payload: payload(271_828) };
const output = ([response, request]) => ({ responseParameters: [{ size: response }], payload: payload(request) });
const other = `syntax = "proto3"; package grpc.testing; message Empty {}
  service UnimplementedService { rpc UnimplementedCall (Empty) returns (Empty); }`;

export function clientCases(channel, proto) {
  const client = channel.client("grpc.testing.TestService", { proto });
  const refused = (call, statusName, message) =>
    assert.rejects(call, (error) => {
      assert.equal(error.statusName, statusName);
      if (message !== undefined) assert.equal(error.message, message);
      return true;
    });
  const duplex = (messages, options) => all(client.bidiStreaming("FullDuplexCall", messages, options));
  const status = (message) => ({ responseStatus: { code: 2, message } });
  const unaryFails = (message) => refused(client.unary("UnaryCall", status(message)), "UNKNOWN", message);
  return {
    empty_unary: async () => {
      assert.deepEqual({ ...(await client.unary("EmptyCall")) }, { $typeName: "grpc.testing.Empty" });
    },
    large_unary: async () => {
      assert.equal((await client.unary("UnaryCall", large)).payload.body.length, 314_159);
    },
    client_streaming: async () => {
      const messages = pairs.map(([, size]) => ({ payload: payload(size) }));
      const { aggregatedPayloadSize } = await client.clientStreaming("StreamingInputCall", messages);
      assert.equal(aggregatedPayloadSize, 74_922);
    },
    server_streaming: async () => {
      const request = { responseParameters: pairs.map(([size]) => ({ size })) };
      assert.deepEqual(await sizes(client.serverStreaming("StreamingOutputCall", request)), [31_415, 9, 2653, 58_979]);
    },
    ping_pong: async () => {
      let responded;
      async function* requests() {
        for (const pair of pairs) {
          const response = new Promise((resolve) => (responded = resolve));
          yield output(pair);
          await response;
        }
      }
      const received = [];
      for await (const message of client.bidiStreaming("FullDuplexCall", requests())) {
        received.push(message.payload.body.length);
        responded();
      }
      assert.deepEqual(received, [31_415, 9, 2653, 58_979]);
    },
    empty_stream: async () => assert.deepEqual(await duplex([]), []),
    timeout_on_sleeping_server: () =>
      refused(duplex([{ payload: payload(27_182) }], { timeout: "1ms" }), "DEADLINE_EXCEEDED"),
    cancel_after_begin: async () => {
      const controller = new AbortController();
      const never = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => controller.abort()) }) };
      await refused(client.clientStreaming("StreamingInputCall", never, { signal: controller.signal }), "CANCELLED");
    },
    cancel_after_first_response: async () => {
      const controller = new AbortController();
      const stream = client.bidiStreaming("FullDuplexCall", [output(pairs[0])], { signal: controller.signal });
      assert.equal((await stream.next()).value.payload.body.length, 31_415);
      controller.abort();
      await refused(stream.next(), "CANCELLED");
    },
    custom_metadata: async () => {
      const sent = new Uint8Array([0xab, 0xab, 0xab]);
      for (const call of [
        (options) => client.unary("UnaryCall", large, options),
        (options) => duplex([output([314_159, 271_828])], options),
      ]) {
        const seen = {};
        await call({
          metadata: { [initial]: "test_initial_metadata_value", [trailing]: sent },
          onHeaders: (metadata) => (seen.initial = metadata.get(initial)),
          onTrailers: (metadata) => (seen.trailing = metadata.getBytes(trailing)),
        });
        assert.deepEqual(seen, { initial: "test_initial_metadata_value", trailing: sent });
      }
    },
    status_code_and_message: async () => {
      await unaryFails("test status message");
      await refused(duplex([status("test status message")]), "UNKNOWN", "test status message");
    },
    special_status_message: () => unaryFails("\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"),
    unimplemented_method: () => refused(client.unary("UnimplementedCall"), "UNIMPLEMENTED"),
    unimplemented_service: () => {
      const missing = channel.client("grpc.testing.UnimplementedService", { proto: other });
      return refused(missing.unary("UnimplementedCall"), "UNIMPLEMENTED");
    },
  };
}

async function all(stream) {
  const messages = [];
  for await (const message of stream) messages.push(message);
  return messages;
}

async function sizes(stream) {
  return (await all(stream)).map((message) => message.payload.body.length);
}
