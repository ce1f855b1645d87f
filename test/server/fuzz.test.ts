import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { explain } from "./differences.js";
import { observe } from "./fuzz-support.js";
import { mutate, seeded } from "./mutate.js";
import { refusedCases } from "./refused.js";
import { echo, start, transports } from "./support.js";
import { validRequests } from "./valid.js";

const caseCount = Number(process.env.STOA_FUZZ_CASES ?? 400);
const seed = Number(process.env.STOA_FUZZ_SEED ?? 1);
const batch = 25;

describe("mutated requests", () => {
  it("Mutated requests never fault a transport, and both handle them alike except for known reasons", {
    timeout: 300_000,
  }, async () => {
    const short = { headTimeout: 0.5, bodyTimeout: 0.5 };
    const tested = transports.filter(([name]) => name !== "http2");
    const servers = await Promise.all(tested.map(([, factory]) => start(factory, echo, short)));
    const [ours, nodes, ...natives] = servers;
    const seeds = [...validRequests, ...validRequests, ...refusedCases.map((refused) => refused.bytes)].filter(
      (bytes) => bytes.length < 2000,
    );
    const random = seeded(seed);
    const cases = Array.from({ length: caseCount }, () =>
      mutate(seeds[Math.floor(random() * seeds.length)]!, seeds, random),
    );
    const surprises: unknown[] = [];
    for (let i = 0; i < cases.length; i += batch) {
      await Promise.all(
        cases.slice(i, i + batch).map(async (bytes) => {
          const [net, node] = await Promise.all([observe(ours!.address, bytes), observe(nodes!.address, bytes)]);
          if (net.fault !== null || node.fault !== null || explain(bytes, net, node) === null) {
            surprises.push({ bytes, net, node });
          }
          for (const { address } of natives) {
            const native = await observe(address, bytes);
            if (!isDeepStrictEqual(native, net)) surprises.push({ bytes, net, native });
          }
        }),
      );
    }
    expect(surprises).toEqual([]);
    expect(servers.flatMap((server) => server.errors)).toEqual([]);
    for (const { address } of servers) {
      expect((await observe(address, "GET /after HTTP/1.1\r\nHost: a\r\n\r\n")).seen).toHaveLength(2);
    }
  });
});
