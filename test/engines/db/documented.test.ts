import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { codeBlocks, withoutSpace } from "../../docs/code-in-markdown.js";
import { loggedApps, replicatedApp } from "./documented.js";

const page = await readFile(new URL("../../../docs/database.md", import.meta.url), "utf8");
const source = withoutSpace(await readFile(new URL("./documented.ts", import.meta.url), "utf8"));

const sections = page.slice(page.indexOf("## Query log"), page.indexOf("## Connection pool"));
const calls = codeBlocks(sections, "ts").flatMap((block) =>
  block.startsWith("app.use") ? [block] : block.split(/;$/m),
);

describe("the page of the database", () => {
  it.each(calls.filter((call) => call.trim() !== ""))("The documented code is compiled in these tests: %s", (call) => {
    expect(source).toContain(withoutSpace(call));
  });

  it("The documented calls are accepted", () => {
    expect(loggedApps).not.toThrow();
    expect(replicatedApp).not.toThrow();
  });

  it("The page names all options of the database and of the query log", async () => {
    const { DatabaseConfig } = await import("stoa");
    const inner = ["engine", "folder", "hosts"];
    const names = Object.keys(new DatabaseConfig({ host: "h" })).filter((name) => !inner.includes(name));
    const others = ["slow", "slowOnly", "parameters", "explain", "caller", "repeated", "replicas", "url", "password"];
    for (const name of [...names, ...others]) expect(page).toContain(`\`${name}\``);
  });
});
