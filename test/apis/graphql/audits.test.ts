import { serverAudits } from "graphql-http";
import { serve, type TestServer } from "stoa/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { graphqlApp } from "./support.js";

describe("GraphQL over HTTP", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await serve(graphqlApp({ typeDefs: "type Query { hello: String }", introspection: true }), {
      debug: false,
    });
  });
  afterAll(() => server.close());

  const audits = serverAudits({ url: () => `${server.url}/graphql`, fetchFn: fetch });

  it("The suite for GraphQL over HTTP has 61 audits", () => expect(audits).toHaveLength(61));

  it.each(audits.map((audit) => [audit.id, audit.name, audit] as const))(
    "The audit %s passes: the server %s",
    async (_id, _name, audit) => {
      const result = await audit.fn();
      expect(result.status === "ok" ? "ok" : `${result.status}: ${result.reason}`).toBe("ok");
    },
  );
});
