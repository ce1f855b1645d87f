import { createHmac } from "node:crypto";

export const secret = "an example secret of more than 32 bytes";

const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const unsigned = `${encode({ alg: "HS256", typ: "JWT" })}.${encode({ sub: "ann", iat: 1_700_000_000, exp: 4_000_000_000 })}`;
const token = `${unsigned}.${createHmac("sha256", secret).update(unsigned).digest("base64url")}`;

/** The features that a typical service enables, compared with Fastify and its official plugins for the same. */
export default {
  key: "f",
  name: "batteries",
  kind: "batteries",
  base: "fastify",
  peers: ["stoa"],
  method: "GET",
  path: "/json",
  value: { hello: "world" },
  secret,
  headers: { authorization: `Bearer ${token}`, origin: "https://example.com", "accept-encoding": "gzip" },
};
