import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { App, Response } from "stoa";
import { describe, expect, it } from "vitest";
import { addEcho } from "../apis/grpc/support.js";
import { service } from "../support/service.js";
import { openBrowser } from "./browser.js";

const chromium = service("chromium");

/** The script of the page: clients of Connect and of gRPC-Web, and the client of the gRPC project itself. */
const script = `
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { GrpcWebClientBase, MethodDescriptor } from "grpc-web";
import { fromBinary, toBinary, create } from "@bufbuild/protobuf";
import { Echo, EchoRequestSchema, EchoResponseSchema } from "./echo_pb.ts";

async function use(transport) {
  const client = createClient(Echo, transport);
  const { text } = await client.say({ text: "hi" });
  const numbers = [];
  for await (const { number } of client.count({ times: 3 })) numbers.push(number);
  const code = await client.unbuilt({}).catch((error) => error.code);
  return { text, numbers, code };
}

function official(baseUrl, format) {
  const client = new GrpcWebClientBase({ format });
  const encode = (message) => toBinary(EchoRequestSchema, create(EchoRequestSchema, message));
  const decode = (bytes) => fromBinary(EchoResponseSchema, bytes);
  const method = new MethodDescriptor("/test.echo.v1.Echo/Say", "unary", Object, Object, encode, decode);
  return new Promise((resolve) => {
    client.rpcCall(baseUrl + "/test.echo.v1.Echo/Say", { text: "hi" }, {}, method, (error, response) =>
      resolve(error ? String(error.message) : response.text),
    );
  });
}

globalThis.judge = async (baseUrl) => ({
  connect: await use(createConnectTransport({ baseUrl })),
  grpcWeb: await use(createGrpcWebTransport({ baseUrl })),
  binary: await official(baseUrl, "binary"),
  text: await official(baseUrl, "text"),
});
`;

describe.skipIf(!chromium)("gRPC in a browser", () => {
  it("A page of another site makes calls with connect-web and grpc-web", async () => {
    const resolveDir = fileURLToPath(new URL("../apis/grpc/fixtures", import.meta.url));
    const bundled = await build({
      stdin: { contents: script, resolveDir },
      bundle: true,
      write: false,
      format: "iife",
    });
    const site = new App();
    site.get("/", () =>
      Response.html(`<title>page</title><script>${bundled.outputFiles[0]!.text.replaceAll("</", "<\\/")}</script>`),
    );
    const page = await site.run({ port: 0, exit: false, logs: false });
    const app = new App();
    app.enableGrpc({ address: "127.0.0.1:0", enableWeb: true }).enableCors([page.url.replace(/\/$/, "")]);
    addEcho(app);
    const server = await app.run({ port: 0, exit: false, logs: false });
    const browser = await openBrowser();
    try {
      const tab = await browser.newPage();
      await tab.goto(page.url);
      const seen = await tab.evaluate(`judge(${JSON.stringify(server.url.replace(/\/$/, ""))})`);
      const called = { text: "hi", numbers: [1, 2, 3], code: 12 };
      expect(seen).toEqual({ connect: called, grpcWeb: called, binary: "hi", text: "hi" });
    } finally {
      await browser.close();
      await Promise.all([server.close(), page.close()]);
    }
  });
});
