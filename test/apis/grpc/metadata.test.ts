import { inspect } from "node:util";
import { GrpcError, grpcDetail, Metadata } from "stoa/grpc";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeStatusDetails } from "../../../src/apis/grpc/codec/status-message.js";
import { Echo, EchoRequestSchema } from "./fixtures/echo_pb.js";
import { Peer, type RunningApp, serve } from "./support.js";

let running: RunningApp;
let peer: Peer;

beforeAll(async () => {
  running = await serve((app) => {
    app.addGrpcService(Echo, {
      say(_message, { metadata, headers, trailers }) {
        for (const value of metadata.getAll("x-echo")) headers.append("x-echo", value);
        const bytes = metadata.getBytes("x-echo-bin");
        if (bytes) trailers.set("x-echo-bin", bytes);
        return {};
      },
      async *chat(messages, { metadata, headers, trailers }) {
        headers.set("x-echo", metadata.get("x-echo") ?? "");
        for await (const _message of messages) yield {};
        trailers.set("x-late", "yes");
      },
      look({ text }, { headers }) {
        if (text === "early") headers.append("x-early", "first").append("x-early", "second");
        throw new GrpcError("FAILED_PRECONDITION", "not\tnow: ☺ and 😈 at 100%", {
          details: [grpcDetail(EchoRequestSchema, { text: "why" })],
          metadata: { "x-reason": "tired" },
        });
      },
      async collect(messages) {
        for await (const { text } of messages) {
          if (text === "headers")
            throw new GrpcError("ABORTED", "never", { metadata: { "x-large": "y".repeat(60_000) } });
        }
        throw new GrpcError("ABORTED", "☺".repeat(30_000), {
          details: [grpcDetail(EchoRequestSchema, { text: "z".repeat(60_000) })],
        });
      },
      async *count({ times }, { headers }) {
        headers.set("x-early", "streamed");
        for (let number = 0; number < times; number++) yield { number };
        throw new GrpcError("DATA_LOSS", "lost", { metadata: { "x-reason": "later" } });
      },
    });
  });
  peer = new Peer(running.target);
});

afterAll(async () => {
  peer.close();
  await running.close();
});

describe("metadata over the wire", () => {
  it("A handler of a unary call reads metadata and sends headers and trailers", async () => {
    const bytes = Buffer.from([0, 1, 2, 255]);
    const settings = { metadata: { "x-echo": "value", "x-echo-bin": bytes } };
    const { headers, trailers, code } = await peer.call(Echo.method.say, {}, settings);
    expect(code).toBe(0);
    expect(headers?.get("x-echo")).toEqual(["value"]);
    expect(trailers.get("x-echo-bin")).toEqual([bytes]);
  });

  it("A handler of a stream sets headers before its first message and trailers after the last", async () => {
    const settings = { metadata: { "x-echo": "streamed" } };
    const { headers, trailers, messages } = await peer.call(Echo.method.chat, [{}, {}], settings);
    expect(messages).toHaveLength(2);
    expect(headers?.get("x-echo")).toEqual(["streamed"]);
    expect(trailers.get("x-late")).toEqual(["yes"]);
  });

  it("An error carries its code, its message in any script, its details and its metadata", async () => {
    const { code, details, trailers } = await peer.call(Echo.method.look, {});
    expect(code).toBe(9);
    expect(details).toBe("not\tnow: ☺ and 😈 at 100%");
    expect(trailers.get("x-reason")).toEqual(["tired"]);
    const [packed] = trailers.get("grpc-status-details-bin");
    const [detail] = decodeStatusDetails(packed as Buffer);
    expect(detail?.typeUrl).toBe("type.googleapis.com/test.echo.v1.EchoRequest");
    expect(Buffer.from(detail!.value).toString()).toContain("why");
  });

  it("Headers that a handler has set come with the error that it throws before a message", async () => {
    const unary = await peer.call(Echo.method.look, { text: "early" });
    expect([unary.code, unary.trailers.get("x-early")]).toEqual([9, ["first, second"]]);
    expect(unary.trailers.get("x-reason")).toEqual(["tired"]);
    const stream = await peer.call(Echo.method.count, { times: 0 });
    expect([stream.code, stream.headers?.get("x-early")]).toEqual([15, ["streamed"]]);
    expect(stream.trailers.get("x-reason")).toEqual(["later"]);
    expect(stream.trailers.get("x-early")).toEqual([]);
  });

  it("An error with more than HTTP/2 can send has its status, and the beginning of its message", async () => {
    const { code, details, trailers } = await peer.call(Echo.method.collect, [{ text: "details" }]);
    expect(code).toBe(10);
    expect(details).toMatch(/^☺{100,}$/);
    expect(trailers.get("grpc-status-details-bin")).toEqual([]);
  });

  it("Metadata that is too large to be sent is refused where it is made", async () => {
    expect((await peer.call(Echo.method.collect, [{ text: "headers" }])).code).toBe(13);
    const metadata = new Metadata();
    expect(() => metadata.set("x", "y".repeat(50_000))).toThrow("put large values into messages");
    expect(() => metadata.set("x-bin", Buffer.alloc(40_000))).toThrow("cannot be sent");
    metadata.set("x", "y".repeat(40_000)).set("x", "z".repeat(40_000));
    expect(() => metadata.append("x", "y".repeat(10_000))).toThrow("more than 49152 bytes");
  });

  it("An error after some messages comes with the trailers", async () => {
    const { code, messages, details, trailers } = await peer.call(Echo.method.count, { times: 3 });
    expect(messages).toHaveLength(3);
    expect([code, details]).toEqual([15, "lost"]);
    expect(trailers.get("x-reason")).toEqual(["later"]);
  });
});

describe("the class Metadata", () => {
  it("Names are case-insensitive and values are kept in order", () => {
    const metadata = new Metadata({ "X-Tag": ["a", "b"] });
    expect(metadata.get("x-tag")).toBe("a");
    expect(metadata.getAll("X-TAG")).toEqual(["a", "b"]);
    expect([...metadata.set("x-tag", "c")]).toEqual([["x-tag", "c"]]);
    expect(metadata.delete("x-tag")).toBe(true);
    expect(metadata.size).toBe(0);
  });

  it.each([
    ["x y", "a", "not a name of metadata"],
    ["x-a", "line\nend", "cannot be sent"],
    ["x-a", "ü", "cannot be sent"],
    ["x-bin", "text", "takes bytes"],
    ["grpc-status", "0", "belongs to the protocol"],
    [":path", "/", "not a name of metadata"],
  ])("The name %j with the value %j is refused", (name, value, reason) => {
    expect(() => new Metadata().set(name, value)).toThrow(reason);
  });

  it("Logs show names and values, but no secrets", () => {
    const metadata = new Metadata({ "x-key": ["a", "b"], "x-key-bin": new Uint8Array([1]), Authorization: "Bearer t" });
    const shown = { "x-key": ["a", "b"], "x-key-bin": ["AQ"], authorization: ["[redacted]"] };
    expect(JSON.parse(JSON.stringify(metadata))).toEqual(shown);
    expect(inspect({ metadata }, { breakLength: Infinity })).toBe(
      `{ metadata: Metadata ${inspect(shown, { breakLength: Infinity })} }`,
    );
    expect(metadata.get("authorization")).toBe("Bearer t");
  });

  it("Bytes are refused for a name without -bin", () => {
    expect(() => new Metadata().set("x-a", new Uint8Array(1))).toThrow("takes text");
  });
});
