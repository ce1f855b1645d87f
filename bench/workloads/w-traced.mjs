import { startCollector } from "../lib/collector.mjs";

/** Every request recorded as a span and exported, compared with Fastify and the SDK of OpenTelemetry. */
export default {
  key: "w",
  name: "traced",
  kind: "traced",
  base: "fastify",
  peers: ["stoa"],
  method: "GET",
  path: "/json",
  value: { hello: "world" },
  rate: 1,
  prepare: startCollector,
};
