import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { explain } from "./differences.js";
import { type Observation, observe } from "./fuzz-support.js";
import { echo, onEachEngine, startForAll, transports } from "./support.js";

const folder = new URL("./corpus/", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".http"));
/** The result of each on our transport: method, target and body of the requests, and the status of the refusal. */
const expected = JSON.parse(readFileSync(new URL("expected.json", folder), "utf8")) as Record<string, unknown>;

describe("the corpus of requests", () => {
  const limits = { headTimeout: 0.5, bodyTimeout: 0.5 };
  const ours = startForAll(transports[0]![1], echo, limits);
  const nodes = startForAll(transports[1]![1], echo, limits);

  it("The corpus of requests has an expectation for each file", () => {
    expect(Object.keys(expected).sort()).toEqual([...files].sort());
  });

  it.each(files)(
    "The request %s is handled as before, and alike by both transports except for a known reason",
    async (file) => {
      const bytes = readFileSync(new URL(file, folder), "latin1");
      const [net, node] = await Promise.all([observe(ours().address, bytes), observe(nodes().address, bytes)]);
      expect({ net: net.fault, node: node.fault }).toEqual({ net: null, node: null });
      expect(summary(net)).toEqual(expected[file]);
      expect(explain(bytes, net, node)).not.toBeNull();
    },
  );

  onEachEngine("on the native transport with %s", (factory) => {
    const native = startForAll(factory, echo, limits);

    it.each(files)("The request %s is handled by the native transport as before", async (file) => {
      const bytes = readFileSync(new URL(file, folder), "latin1");
      const observed = await observe(native().address, bytes);
      expect(observed.fault).toBeNull();
      expect(summary(observed)).toEqual(expected[file]);
    });
  });
});

function summary({ seen, refusal }: Observation): unknown {
  const requests = seen.map((text) => JSON.parse(text) as { method: string; target: string; body: string | null });
  return { seen: requests.map(({ method, target, body }) => [method, target, body]), refusal };
}
