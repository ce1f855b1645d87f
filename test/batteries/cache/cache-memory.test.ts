import { fileURLToPath } from "node:url";
import { App } from "stoa";
import { describe, expect, it } from "vitest";
import { Program, patient } from "../../server/process/program.js";
import { isLong } from "../../support/long.js";
import { ask } from "./cached-app.js";

const file = fileURLToPath(new URL("./fixtures/fill-cache.ts", import.meta.url));
/**
 * STOA_CACHE_REQUESTS=999000 for the long run. Together with the 1000 of the warm-up, the others are just short of a
 * multiple of 10,000, at which a map may be cleared.
 */
const count = Number(process.env["STOA_CACHE_REQUESTS"] ?? (isLong ? 28_998 : 8_998));

const scenarios: [name: string, scenario: string][] = [
  ["short addresses", "small"],
  ["responses that are not stored, under long addresses", "refused"],
  ["responses with four tags of their own", "tagged"],
];
const furtherScenarios: typeof scenarios = [
  ["different paths", "paths"],
  ["responses that vary by a field", "varied"],
  ["changes of long addresses", "changed"],
];

describe("the memory of a cache of 16 MiB", patient, () => {
  it.each(isLong ? [...scenarios, ...furtherScenarios] : scenarios)(
    "The memory of a cache of 16 MiB stays below 1.3 times that with %s",
    { timeout: 1_800_000 },
    async (_name, scenario) => {
      const program = new Program({ file, node: ["--expose-gc"], args: [scenario, String(count)] });
      expect((await program.exited).code, program.report()).toBe(0);
      const { share } = JSON.parse(program.stdout) as { share: number };
      expect(share).toBeLessThan(1.3);
    },
  );
});

describe("long addresses and tags", () => {
  it("Long addresses and tags are cached and invalidated as short ones", async () => {
    const app = new App().enableCaching();
    const tag = "t".repeat(5000);
    let runs = 0;
    app.get("/{rest:*}", { cache: { tags: [tag] } }, () => `${++runs}`);
    app.post("/{rest:*}", () => "changed");
    const long = `/${"a".repeat(3000)}`;
    expect([await ask(app, long), await ask(app, long), await ask(app, `${long}b`)]).toEqual([
      "MISS 1",
      "HIT 1",
      "MISS 2",
    ]);
    expect(await app.invalidateCache([tag])).toBe(2);
    expect(await ask(app, long)).toBe("MISS 3");
    await app.request(long, { method: "POST" });
    expect([await ask(app, long), await ask(app, `${long}?x=1`)]).toEqual(["MISS 4", "MISS 5"]);
  });
});
