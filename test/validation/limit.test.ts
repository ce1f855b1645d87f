import { describe, expect, it } from "vitest";
import { z } from "zod";
import { App } from "../../src/entry/index.js";
import { field, Model, nested, partial } from "../../src/entry/orm.js";
import type { Issue } from "../../src/validation/issues.js";
import type { StandardSchema } from "../../src/validation/standard-schema.js";

class Shop extends Model("shops", {
  id: field.auto(),
  sizes: field.array(field.int()),
  prices: field.array(field.array(field.int())),
  name: field.text(),
  get items() {
    return field.reverse(() => Item, "shop");
  },
}) {}

class Item extends Model("items", {
  id: field.auto(),
  sizes: field.array(field.int()),
  shop: field.foreignKey(() => Shop),
}) {}

const own: StandardSchema = {
  "~standard": {
    version: 1,
    vendor: "own",
    validate: (value) => ({ issues: (value as unknown[]).map((_, index) => ({ message: "no", path: [index] })) }),
  },
};

function shops(): App {
  const app = new App();
  app.post("/model", { body: Shop }, () => "");
  app.post("/partial", { body: partial(Shop) }, () => "");
  app.post("/nested", { body: nested(Shop, "items") }, () => "");
  app.post("/zod", { body: z.array(z.string()), query: z.object({ page: z.int(), size: z.int() }) }, () => "");
  app.post("/strict", { body: z.strictObject({}) }, () => "");
  app.post("/own", { body: own }, () => "");
  return app;
}

async function locations(url: string, body: unknown): Promise<Issue["loc"][]> {
  const init = { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  const { detail } = (await (await fetch(url, init)).json()) as { detail: Issue[] };
  return detail.map(({ loc }) => loc);
}

const wrong = Array(20).fill("x");

describe("validateLimit", () => {
  const quiet = { exit: false, port: 0, logs: false } as const;
  it.each([
    ["validateLimit", (app: App) => app.run({ ...quiet, validateLimit: 3 })],
    ["validate_limit", (app: App) => app.run({ ...quiet, validate_limit: 3 })],
  ] as const)("A response has at most as many errors as %s allows", async (_spelling, run) => {
    const app = shops();
    const { url } = await run(app);
    try {
      const sizes = [0, 1, 2].map((index) => ["sizes", index]);
      expect(await locations(`${url}/model`, { sizes: wrong, prices: 1 })).toEqual(sizes);
      expect(await locations(`${url}/model`, { sizes: wrong.slice(18), prices: [wrong, wrong] })).toEqual([
        ["sizes", 0],
        ["sizes", 1],
        ["prices", 0, 0],
      ]);
      expect(await locations(`${url}/partial`, { sizes: wrong })).toEqual(sizes);
      const items = [{ sizes: ["x", "x"] }, { sizes: wrong }, 1];
      expect(await locations(`${url}/nested`, { sizes: [], prices: [], name: "A", items })).toEqual([
        ["items", 0, "sizes", 0],
        ["items", 0, "sizes", 1],
        ["items", 1, "sizes", 0],
      ]);
      expect(await locations(`${url}/zod`, Array(20).fill(1))).toEqual([
        ["query", "page"],
        ["query", "size"],
        ["body", 0],
      ]);
      expect(await locations(`${url}/strict`, { a: 1, b: 1, c: 1, d: 1 })).toHaveLength(3);
      expect(await locations(`${url}/own`, wrong)).toHaveLength(3);
    } finally {
      await app.stop();
    }
  });

  it("A response has 1000 errors by default, and more if the limit is higher", async () => {
    const many = Array(5000).fill("x");
    for (const [limit, count] of [
      [{}, 1000],
      [{ validateLimit: 2000 }, 2000],
    ] as const) {
      const app = shops();
      const { url } = await app.run({ exit: false, port: 0, logs: false, ...limit });
      try {
        expect(await locations(`${url}/model`, { sizes: many, prices: [], name: "A" })).toHaveLength(count);
      } finally {
        await app.stop();
      }
    }
  });

  it("The limit of errors is at least one", async () => {
    await expect(new App().run({ exit: false, port: 0, validateLimit: 0 })).rejects.toThrow("validateLimit");
  });
});
