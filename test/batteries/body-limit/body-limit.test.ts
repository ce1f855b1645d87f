import net from "node:net";
import { App } from "stoa";
import { describe, expect, it } from "vitest";
import { wire } from "../support.js";

function echoApp(): App {
  const app = new App();
  app.post("/echo", (request) => String(request.bytes().length));
  app.post("/large", { bodyLimit: 100 }, (request) => String(request.bytes().length));
  app.post("/stream", { stream: true }, async (request) => {
    let size = 0;
    for await (const piece of request.stream()) size += piece.length;
    return String(size);
  });
  return app;
}

/** Sends bytes on a connection of its own and gives all that comes back until it closes. */
async function converse(port: number, ...parts: string[]): Promise<string> {
  const socket = net.connect(port, "127.0.0.1");
  let text = "";
  for (const part of parts) socket.write(part, "latin1");
  try {
    for await (const piece of socket) text += String(piece);
  } catch {
    // A server that closes on a client that still sends may be seen as a reset.
  }
  return text;
}

describe("enableBodyLimit()", () => {
  it("A body of exactly the limit is accepted, and one more byte is refused", async () => {
    await using server = await wire(echoApp().enableBodyLimit(10));
    expect((await server.send("/echo", { method: "POST", body: "x".repeat(10) })).text).toBe("10");
    const response = await server.send("/echo", { method: "POST", body: "x".repeat(11) });
    expect(response.status).toBe(413);
    expect(response.get("content-type")).toBe("application/problem+json");
    expect(JSON.parse(response.text)).toMatchObject({ status: 413, title: "Payload Too Large" });
  });

  it("A body whose length is over the limit is refused before it is sent", async () => {
    await using server = await wire(echoApp().enableBodyLimit({ maxSize: 10 }));
    const text = await converse(
      server.server.address.port,
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n",
    );
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text.toLowerCase()).toContain("connection: close");
  });

  it("A client that waits for 100 Continue with a body over the limit does not get it", async () => {
    await using server = await wire(echoApp().enable_body_limit({ max_size: 10 }));
    const head = "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n";
    const text = await converse(server.server.address.port, head);
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).not.toContain("100 Continue");
  });

  it("A chunked body over the limit is refused as it arrives, before its end", async () => {
    await using server = await wire(echoApp().enableBodyLimit(10));
    const head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    const text = await converse(server.server.address.port, head, "6\r\nabcdef\r\n", "6\r\nabcdef\r\n");
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("The body limit applies to a route that streams the body", async () => {
    await using server = await wire(echoApp().enableBodyLimit(10));
    expect((await server.send("/stream", { method: "POST", body: "x".repeat(10) })).text).toBe("10");
    expect((await server.send("/stream", { method: "POST", body: "x".repeat(11) })).status).toBe(413);
  });

  it("The body limit of a route takes precedence over the application's", async () => {
    await using server = await wire(echoApp().enableBodyLimit(10));
    expect((await server.send("/large", { method: "POST", body: "x".repeat(100) })).text).toBe("100");
    expect((await server.send("/large", { method: "POST", body: "x".repeat(101) })).status).toBe(413);
  });

  it("The default body limit is 10485760 bytes", async () => {
    await using server = await wire(echoApp().enableBodyLimit(5).enableBodyLimit());
    const exact = await server.send("/echo", { method: "POST", body: Buffer.alloc(10_485_760) });
    expect(exact.text).toBe("10485760");
    const head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10485761\r\n\r\n";
    expect(await converse(server.server.address.port, head)).toMatch(/^HTTP\/1\.1 413 /);
  });

  it("A body limit that is not a size is refused", () => {
    for (const bad of [-1, 1.5, "10MB", Number.NaN]) {
      expect(() => new App().enableBodyLimit(bad as number)).toThrow("option 'maxSize' in enableBodyLimit() must be");
    }
    expect(() => new App().enableBodyLimit({ max_sise: 1 } as never)).toThrow("did you mean 'max_size'?");
  });
});
