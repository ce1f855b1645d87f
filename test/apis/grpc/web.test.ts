import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createGrpcTransport,
  createConnectTransport as nodeConnect,
  createGrpcWebTransport as nodeWeb,
} from "@connectrpc/connect-node";
import { createConnectTransport as fetchConnect, createGrpcWebTransport as fetchWeb } from "@connectrpc/connect-web";
import { GrpcError, grpcDetail } from "stoa/grpc";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Echo, EchoRequestSchema } from "./fixtures/echo_pb.js";
import { addEcho, type RunningApp, serve } from "./support.js";

let running: RunningApp;
const failing: { fail: ((text: string) => never) | null } = { fail: null };

beforeAll(async () => {
  running = await serve(
    (app) => {
      app.enableCors(["https://app.example"]);
      addEcho(app);
      app.addGrpcService("test.Errors", {
        Throw: () => failing.fail?.("x") ?? {},
      });
      app.addGrpcService("test.Levels", {
        Look: { idempotent: true, handler: () => ({ seen: true }) },
        Change: { handler: () => ({ changed: true }) },
      });
    },
    { enableWeb: true },
  );
});

afterAll(() => running.close());

type Make = (own: string, app: string) => Transport;
const transports: [name: string, make: Make, bidi: boolean][] = [
  ["gRPC of connect-node", (own) => createGrpcTransport({ baseUrl: own }), true],
  ["Connect over HTTP/2", (own) => nodeConnect({ baseUrl: own, httpVersion: "2" }), true],
  [
    "Connect with protobuf over HTTP/2",
    (own) => nodeConnect({ baseUrl: own, httpVersion: "2", useBinaryFormat: true }),
    true,
  ],
  ["Connect over HTTP/1.1 on the port of gRPC", (own) => nodeConnect({ baseUrl: own, httpVersion: "1.1" }), false],
  [
    "Connect over HTTP/1.1 on the port of the application",
    (_, app) => nodeConnect({ baseUrl: app, httpVersion: "1.1" }),
    false,
  ],
  ["gRPC-Web over HTTP/2", (own) => nodeWeb({ baseUrl: own, httpVersion: "2" }), true],
  ["gRPC-Web over HTTP/1.1", (_, app) => nodeWeb({ baseUrl: app, httpVersion: "1.1" }), false],
  ["Connect of browsers", (_, app) => fetchConnect({ baseUrl: app }), false],
  [
    "Connect of browsers with protobuf and GET",
    (_, app) => fetchConnect({ baseUrl: app, useBinaryFormat: true, useHttpGet: true }),
    false,
  ],
  ["gRPC-Web of browsers", (_, app) => fetchWeb({ baseUrl: app }), false],
  ["gRPC-Web of browsers in JSON", (_, app) => fetchWeb({ baseUrl: app, useBinaryFormat: false }), false],
];

describe.each(transports)("the client %s", (_name, make, bidi) => {
  const client = () => createClient(Echo, make(`http://${running.target}`, running.url.replace(/\/$/, "")));

  it("It makes a unary call", async () => {
    const { text, number, payload } = await client().say({
      text: "héllo",
      times: 3,
      payload: new Uint8Array([1, 2, 3]),
    });
    expect([text, number, [...payload]]).toEqual(["héllo", 3, [1, 2, 3]]);
  });

  it("It makes a call without side effects", async () => {
    expect((await client().look({ text: "it" })).text).toBe("seen it");
  });

  it("It reads a stream of the server", async () => {
    const numbers: number[] = [];
    for await (const { number } of client().count({ text: "x", times: 50 })) numbers.push(number);
    expect(numbers).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
  });

  it("It gets the code of a method without a handler", async () => {
    const error = await client()
      .unbuilt({})
      .then(
        () => null,
        (thrown: unknown) => ConnectError.from(thrown),
      );
    expect(error?.code).toBe(Code.Unimplemented);
    expect(error?.rawMessage).toContain("Unbuilt");
  });

  if (bidi) {
    it("It sends a stream and exchanges streams", async () => {
      async function* texts() {
        for (const text of ["a", "b", "c"]) yield { text };
      }
      expect((await client().collect(texts())).text).toBe("a b c");
      const echoed: string[] = [];
      for await (const { text } of client().chat(texts())) echoed.push(text);
      expect(echoed).toEqual(["a", "b", "c"]);
    });
  }
});

const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
  fetch(`${running.url.replace(/\/$/, "")}${path}`, { method: "POST", body, headers });

describe("requests written by hand", () => {
  it("A method of a service without a definition is called with GET where it says that it has no effect", async () => {
    const get = (method: string) =>
      fetch(`${running.url}/test.Levels/${method}?connect=v1&encoding=json&message=%7B%7D`);
    const looked = await get("Look");
    expect([looked.status, await looked.json()]).toEqual([200, { seen: true }]);
    expect((await get("Change")).status).toBe(405);
  });

  it("A client that knows nothing but JSON calls a method", async () => {
    const response = await post("/test.echo.v1.Echo/Say", '{"text":"hi"}', {
      "content-type": "application/json; charset=utf-8",
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ text: "hi" });
  });

  it("gRPC-Web in base64 is decoded and encoded, with padding in the middle", async () => {
    const body = ["AAAAAAQ=", "CgJoaQ=="].join("");
    const response = await post("/test.echo.v1.Echo/Say", body, { "content-type": "application/grpc-web-text" });
    expect(response.headers.get("content-type")).toBe("application/grpc-web-text");
    const bytes = Buffer.from(await response.text(), "base64");
    expect(bytes.subarray(0, 9)).toEqual(Buffer.from("00000000040a026869", "hex"));
    expect(bytes.subarray(9).toString("latin1")).toContain("grpc-status: 0");
  });

  it("A body that is not base64 fails with a status", async () => {
    const response = await post("/test.echo.v1.Echo/Say", "****", { "content-type": "application/grpc-web-text" });
    expect(Buffer.from(await response.text(), "base64").toString("latin1")).toContain("grpc-status: 13");
  });

  it("An unknown Content-Type gets 415, another method 405 and an unknown path 404", async () => {
    expect((await post("/test.echo.v1.Echo/Say", "x", { "content-type": "text/plain" })).status).toBe(415);
    expect((await post("/test.echo.v1.Echo/Nothing", "{}", { "content-type": "application/json" })).status).toBe(404);
    const url = running.url.replace(/\/$/, "");
    expect((await fetch(`${url}/test.echo.v1.Echo/Say`)).status).toBe(405);
    expect((await fetch(`${url}/test.echo.v1.Echo/Say?encoding=json&message=%7B%7D`)).status).toBe(405);
  });

  it.each([
    ["a compression that is not known", { "content-encoding": "br" }, 501, "unimplemented"],
    ["a timeout that is no number", { "connect-timeout-ms": "soon" }, 400, "invalid_argument"],
    ["another version of Connect", { "connect-protocol-version": "2" }, 400, "invalid_argument"],
  ])("A unary call of Connect with %s fails with its code", async (_name, fields, status, code) => {
    const headers = { ...(fields as object), "content-type": "application/json", origin: "https://app.example" };
    const response = await post("/test.echo.v1.Echo/Say", "{}", headers);
    expect([response.status, response.headers.get("content-type")]).toEqual([status, "application/json"]);
    expect(await response.json()).toEqual({ code, message: expect.any(String) });
    expect(response.headers.get("access-control-allow-origin")).toBe("https://app.example");
  });

  it("A call with GET that has no message fails with its code", async () => {
    const response = await fetch(`${running.url}/test.Levels/Look?connect=v1&encoding=json`);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ code: "invalid_argument", message: "the query has no message" });
  });

  it("Streams and calls of gRPC-Web with a compression that is not known fail with their code", async () => {
    const stream = await post("/test.echo.v1.Echo/Collect", new Uint8Array(5), {
      "content-type": "application/connect+json",
      "connect-content-encoding": "br",
    });
    expect([stream.status, stream.headers.get("content-type")]).toEqual([200, "application/connect+json"]);
    const end = Buffer.from(await stream.arrayBuffer());
    expect([end[0], JSON.parse(end.subarray(5).toString())]).toMatchObject([2, { error: { code: "unimplemented" } }]);
    const web = await post("/test.echo.v1.Echo/Say", new Uint8Array(5), {
      "content-type": "application/grpc-web",
      "grpc-encoding": "br",
    });
    expect(web.status).toBe(200);
    expect(Buffer.from(await web.arrayBuffer()).toString("latin1")).toContain("grpc-status: 12");
  });

  it("Malformed JSON is an invalid argument with a message", async () => {
    const response = await post("/test.echo.v1.Echo/Say", "{", { "content-type": "application/json" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "invalid_argument" });
  });

  it("A compressed message beyond the limit is refused", async () => {
    const { gzipSync } = await import("node:zlib");
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(50_000_000, 0x20)));
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    const response = await post("/test.echo.v1.Echo/Say", bomb, headers);
    expect(response.status).toBe(429);
    expect(await response.json()).toMatchObject({ code: "resource_exhausted" });
  });

  it("A body beyond the limit is refused", async () => {
    const response = await post("/test.echo.v1.Echo/Say", " ".repeat(5_000_000), {
      "content-type": "application/json",
    });
    expect(await response.json()).toMatchObject({ code: "resource_exhausted" });
  });

  it("An error keeps its details and metadata in JSON", async () => {
    failing.fail = () => {
      throw new GrpcError("NOT_FOUND", "no such thing", {
        details: [grpcDetail(EchoRequestSchema, { text: "x" })],
        metadata: { "x-why": "gone" },
      });
    };
    const response = await post("/test.Errors/Throw", "{}", { "content-type": "application/json" });
    expect(response.status).toBe(404);
    expect(response.headers.get("trailer-x-why")).toBe("gone");
    expect(await response.json()).toEqual({
      code: "not_found",
      message: "no such thing",
      details: [{ type: "test.echo.v1.EchoRequest", value: "CgF4" }],
    });
  });

  it("A preflight request of a browser is answered on both ports", async () => {
    const headers = {
      origin: "https://app.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,x-grpc-web,grpc-timeout,connect-protocol-version",
    };
    for (const url of [running.url.replace(/\/$/, ""), `http://${running.target}`]) {
      const response = await fetch(`${url}/test.echo.v1.Echo/Say`, { method: "OPTIONS", headers });
      expect(response.status).toBe(204);
      expect(response.headers.get("access-control-allow-origin")).toBe("https://app.example");
      expect(response.headers.get("access-control-allow-headers")?.toLowerCase()).toContain("x-grpc-web");
    }
  });

  it("Errors of gRPC-Web have status 200 and CORS headers", async () => {
    const response = await post("/test.echo.v1.Echo/Unbuilt", new Uint8Array([0, 0, 0, 0, 0]), {
      "content-type": "application/grpc-web+proto",
      origin: "https://app.example",
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(Buffer.from(await response.arrayBuffer()).toString("latin1")).toContain("grpc-status: 12");
  });
});

it("Without enableWeb neither port serves gRPC-Web and Connect", async () => {
  const closed = await serve(addEcho);
  const init = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
  expect((await fetch(`${closed.url.replace(/\/$/, "")}/test.echo.v1.Echo/Say`, init)).status).toBe(404);
  expect((await fetch(`http://${closed.target}/test.echo.v1.Echo/Say`, init)).status).toBe(415);
  await closed.close();
});
