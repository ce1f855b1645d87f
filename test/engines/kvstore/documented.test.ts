import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { codeBlocks, withoutSpace } from "../../docs/code-in-markdown.js";
import { service } from "../../support/service.js";
import * as documented from "./documented.js";
import { testStore } from "./store.js";

const page = await readFile(new URL("../../../docs/kvstore.md", import.meta.url), "utf8");
const source = withoutSpace(await readFile(new URL("./documented.ts", import.meta.url), "utf8"));

describe("the page of the key-value store", () => {
  it.each(codeBlocks(page, "ts"))(
    "The documented code of the key-value store is compiled in these tests: %s",
    (block) => {
      const code = block.replace(/^import .*$/m, "");
      expect(source).toContain(withoutSpace(code));
    },
  );

  it("The page of the key-value store names all options", async () => {
    const { KvStoreConfig } = await import("stoa");
    const names = [...Object.keys(new KvStoreConfig()), "url", "tls", "password"].filter((name) => name !== "servers");
    for (const name of names) expect(page).toContain(`\`${name}\``);
  });
});

describe.skipIf(!service("redis"))("the code of that page", () => {
  it("The documented code does what the page says", async () => {
    const kv = await testStore();
    const lines: unknown[] = [];
    const console = { log: (...texts: unknown[]) => lines.push(...texts) };
    expect(await documented.values(kv)).toEqual(["Ada", 1815, ["1", "2", null], 10, false]);
    expect(await documented.structures(kv)).toEqual([
      { name: "Ada", visits: "1" },
      "first",
      ["green", "red"],
      [
        { member: "ada", score: 120 },
        { member: "bob", score: 80 },
      ],
    ]);
    await documented.streams(kv, console);
    expect(await documented.batches(kv)).toEqual([null, 1, -1]);
    expect(await documented.scripts(kv)).toBe(0);
    await documented.locks(kv, async (how) => void lines.push(Object.keys(how)));
    expect(await documented.keys(kv, console)).toContain("used_memory");
    expect(lines).toEqual(["paid", ["signal", "fence"], "user:1"]);
    await documented.messages(kv, console);
    documented.counterApp();
    documented.sharingApp();
  });
});
