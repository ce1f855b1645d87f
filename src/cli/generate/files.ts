/** The spellings of a name: those of `OrderLine`, `order_line` and `order-line` are the same. */
export interface Names {
  /** `order-line`: files, paths, jobs, sagas. */
  readonly kebab: string;
  /** `orderLine`: functions. */
  readonly camel: string;
  /** `OrderLine`: classes. */
  readonly pascal: string;
  /** `order_line`: tables. */
  readonly snake: string;
}

/** The files of a kind, and what is left to do. `source` is the folder of the application, `test` that of its tests. */
export interface Generated {
  readonly files: Readonly<Record<`${"source" | "test"}/${string}`, string>>;
  readonly next: string;
}

/** Not as lines of a text: the bundler changes lines that import modules of Node. */
const testImports = ['import assert from "node:assert/strict";', 'import { test } from "node:test";'].join("\n");

export const kinds = {
  model: ({ kebab, pascal, snake }: Names): Generated => ({
    files: {
      [`source/${kebab}-model.ts`]: `import { field, Model } from "stoa/orm";

export class ${pascal} extends Model("${snake.endsWith("s") ? snake : `${snake}s`}", {
  id: field.auto(),
  name: field.char({ maxLength: 100 }),
  createdAt: field.datetime({ autoNowAdd: true }),
}) {}
`,
    },
    next: `export * from "./${kebab}-model.js"; in the module that stoa.config.ts names as models, then: npx stoa migrate make`,
  }),

  route: ({ kebab, camel, pascal }: Names): Generated => ({
    files: {
      [`source/${kebab}-routes.ts`]: `import { Blueprint, HttpError } from "stoa";
import { z } from "zod";

const New${pascal} = z.object({ name: z.string().trim().min(1).max(100) });
const ${pascal} = New${pascal}.extend({ id: z.int() });
const Id = z.object({ id: z.int().min(1) });

export function ${camel}Routes(): Blueprint<"/${kebab}"> {
  const routes = new Blueprint("/${kebab}", { tags: ["${kebab}"] });
  const all = new Map<number, z.infer<typeof ${pascal}>>(); // put a model in its place

  routes.get("/", { summary: "List ${kebab}", response: z.array(${pascal}) }, () => [...all.values()]);

  routes.post(
    "/",
    { summary: "Add one", body: New${pascal}, response: ${pascal}, status: 201 },
    (_request, { body }) => {
      const added = { id: all.size + 1, ...body };
      all.set(added.id, added);
      return added;
    },
  );

  routes.get("/{id}", { summary: "Read one", params: Id, response: ${pascal} }, (_request, { params }) => {
    const found = all.get(params.id);
    if (found === undefined) throw new HttpError(404, "There is nothing with this id.");
    return found;
  });

  return routes;
}
`,
      [`test/${kebab}-routes.test.ts`]: `${testImports}
import { App } from "stoa";
import { testClient } from "stoa/testing";
import { ${camel}Routes } from "../src/${kebab}-routes.js";

test("${kebab} are added, listed and read, and what is not valid is refused", async () => {
  const app = new App();
  app.registerBlueprint(${camel}Routes());
  await using client = await testClient(app).start();
  const added = await client.post("/${kebab}", { json: { name: "first" } });
  assert.equal(added.status, 201);
  assert.deepEqual(await added.json(), { id: 1, name: "first" });
  assert.deepEqual(await (await client.get("/${kebab}")).json(), [{ id: 1, name: "first" }]);
  assert.deepEqual(await (await client.get("/${kebab}/1")).json(), { id: 1, name: "first" });
  assert.equal((await client.post("/${kebab}", { json: { name: "" } })).status, 422);
  assert.equal((await client.get("/${kebab}/2")).status, 404);
});
`,
    },
    next: `app.registerBlueprint(${camel}Routes()); where the application is created. It needs zod: npm install zod`,
  }),

  job: ({ kebab, camel, pascal }: Names): Generated => ({
    files: {
      [`source/${kebab}-job.ts`]: `import type { App } from "stoa";
import type { Job } from "stoa/jobs";

export interface ${pascal} {
  readonly id: string;
}

/** It is tried again after an error. The id of the job is the same in every attempt. */
export function ${camel}Job(app: App): Job<${pascal}> {
  return app.job("${kebab}", { retries: 3 }, async (value: ${pascal}, { id }) => {
    app.logger.info("${kebab}", { value: value.id, id });
  });
}
`,
    },
    next: `const ${camel} = ${camel}Job(app); where the application is created, then: await ${camel}.enqueue({ id: "1" })`,
  }),

  saga: ({ kebab, camel, pascal }: Names): Generated => ({
    files: {
      [`source/${kebab}-saga.ts`]: `import { type SagaDefinition, saga } from "stoa/saga";

export interface ${pascal} {
  readonly id: string;
}

/** If a step fails, the steps before it are undone, the newest first. Use the id of the saga as the key of each effect. */
export const ${camel}Saga: SagaDefinition<${pascal}, unknown> = saga<${pascal}>("${kebab}")
  .step("reserve", {
    action: ({ input, sagaId }) => ({ reserved: input.id, key: sagaId }),
    compensate: async () => {},
  })
  .step("confirm", { action: ({ results }) => ({ confirmed: results.reserve.reserved }) });
`,
    },
    next: `const ${camel} = app.saga(${camel}Saga); after app.enableSaga(), then: await ${camel}.start({ id: "1" })`,
  }),
} as const;
