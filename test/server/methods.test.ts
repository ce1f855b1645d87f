import { App } from "stoa";
import { describe, expect, it } from "vitest";
import { requestMethods } from "../../src/http/methods.js";
import { openClient } from "./support.js";

describe.each(["net", "node"] as const)("the methods of a route on the %s transport", (transport) => {
  it("A route can have every method that the parser accepts", async () => {
    const app = new App();
    app.route("/", { methods: requestMethods }, (request) => request.method);
    const server = await app.run({ port: 0, exit: false, transport });
    try {
      const client = await openClient(server.address);
      // One after the other: node:http handles pipelined requests side by side.
      for (const [i, method] of requestMethods.entries()) {
        client.send(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`);
        const response = (await client.responses(i + 1, requestMethods))[i]!;
        expect(response, method).toMatchObject({ status: 200, body: method === "HEAD" ? "" : method });
      }
    } finally {
      await server.close();
    }
  });

  it("The methods of a route are listed in Allow for a client that uses another one", async () => {
    const app = new App();
    app.route("/", { methods: ["QUERY", "M-SEARCH"] }, () => "found");
    const server = await app.run({ port: 0, exit: false, transport });
    try {
      const client = await openClient(server.address, "BIND / HTTP/1.1\r\nHost: a\r\n\r\n");
      expect((await client.responses(1))[0]).toMatchObject({ status: 405, headers: { allow: "M-SEARCH, QUERY" } });
    } finally {
      await server.close();
    }
  });
});
