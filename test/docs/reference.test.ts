import { beforeAll, describe, expect, it } from "vitest";
import { referenceTexts } from "../../scripts/reference.mjs";
import { ensureBuilt } from "../../scripts/setup.mjs";

let pages: Readonly<Record<string, string>>;

beforeAll(async () => {
  await ensureBuilt({ types: true });
  pages = referenceTexts();
}, 600_000);

describe("the reference", () => {
  it("The reference has a page for each entry, with what it exports", () => {
    expect(Object.keys(pages)).toEqual(expect.arrayContaining(["stoa.md", "stoa-orm.md", "stoa-testing-broker.md"]));
    expect(pages["stoa.md"]).toContain("\n#### App.get\n\nRegisters a GET route.");
    expect(pages["stoa-orm.md"]).toContain("\n### Model\n\nCreates the base class of a model.");
    expect(pages["stoa-orm.md"]).toContain("\n#### field.text\n");
    expect(pages["stoa-testing.md"]).toContain("\n### testClient\n");
  });

  it("The reference has both spellings of methods and options, with their comments", () => {
    expect(pages["stoa.md"]).toMatch(/\n#### App\.enableCors\n\n.+\n\nAlso `App\.enable_cors`\.\n/);
    expect(pages["stoa.md"]).toContain("\n| `maxAge`, `max_age` | `Duration` | Time for which a browser may cache");
    expect(pages["stoa.md"]).not.toContain("#### App.enable_cors");
  });
});
