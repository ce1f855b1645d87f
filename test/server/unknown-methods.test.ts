import { App } from "stoa";
import { describe, expect, it } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { Response } from "../../src/http/response.js";
import { parseResponses, start, transports } from "./support.js";

describe.each(transports)("Methods on the %s transport", (_name, factory) => {
  async function exchange(bytes: string) {
    const app = new App();
    app.get("/books", () => []);
    app.post("/books", () => []);
    await app.start();
    const { exchange } = await start(factory, hostOf(app).dispatch);
    return parseResponses(await exchange(bytes));
  }

  it.each(["TRACE", "FROB", "get", "X-Y.Z"])(
    "The method %s at a path with routes is 405 and the response names the methods of the path",
    async (method) => {
      const [response, second] = await exchange(
        `${method} /books HTTP/1.1\r\nHost: a\r\n\r\nGET /books HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      );
      expect(response!.status).toBe(405);
      expect(response!.headers["allow"]).toBe("GET, HEAD, POST");
      if (method !== "TRACE") {
        expect(response!.headers["connection"]).toBe("close");
        expect(second).toBeUndefined();
      }
    },
  );

  it.each(["TRACE", "FROB"])("The method %s at a path without routes is 501", async (method) => {
    const [response] = await exchange(`${method} /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    expect(response!.status).toBe(501);
    expect(response!.headers["content-type"]).toBe("application/problem+json");
  });

  it("A method of a route elsewhere is 404 at a path without routes", async () => {
    const [response] = await exchange("PUT /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    expect(response!.status).toBe(404);
  });
});

describe.each(transports)("The last response of a connection on the %s transport", (_name, factory) => {
  it("Requests behind a response that closes the connection are not handled", async () => {
    let handled = 0;
    const { client } = await start(factory, () => {
      handled++;
      return new Response("handled");
    });
    const refused = "GET / HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n";
    const connection = await client(refused);
    expect((await connection.responses(1))[0]!.status).toBe(417);
    connection.send(`${refused}GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n`);
    await expect.poll(() => connection.closed).toBe(true);
    expect(handled).toBe(0);
  });
});

describe.each(transports)("Hosts on the %s transport", (_name, factory) => {
  async function statusOf(target: string, host: string) {
    const app = new App();
    app.get("/", () => "here");
    await app.start();
    const { exchange } = await start(factory, hostOf(app).dispatch);
    return parseResponses(await exchange(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`))[0]!
      .status;
  }

  it.each([
    ["http://A.Example/", "a.example"],
    ["http://a.example:80/", "a.example"],
    ["http://a.example/", "a.example:80"],
    ["http://a.example:/", "a.example"],
    ["https://a.example:443", "a.example"],
  ])("An absolute target is compared with Host by its meaning: %s and %s", async (target, host) => {
    expect(await statusOf(target, host)).toBe(200);
  });

  it.each([
    ["http://a.example:443/", "a.example"],
    ["http://b.example/", "a.example"],
  ])("An absolute target for another host is refused: %s and %s", async (target, host) => {
    expect(await statusOf(target, host)).toBe(400);
  });

  it("A host name may hold sub-delimiters", async () => {
    expect(await statusOf("/", "a!$&'()*+,;=b")).toBe(200);
  });
});
