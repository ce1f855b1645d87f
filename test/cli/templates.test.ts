import { beforeAll, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";
import { Project } from "./project.js";

beforeAll(() => ensureBuilt(), 120_000);

interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema?: object }>> }>>;
}

it.each(["api", "saas", "events"])("Every route of the template %s describes its response", async (template) => {
  const project = await Project.create({}, ["tsx", "zod", "pg", "amqplib", "@electric-sql"]);
  expect(await project.stoa(["new", "shop", "--template", template, "--no-install", "--no-git", "-y"])).toMatchObject({
    code: 0,
  });
  const env = { DATABASE_URL: "pglite:", BROKER_URL: "memory:", JWT_SECRET: "0123456789abcdef0123456789abcdef" };
  const { stdout, stderr } = await project.stoa(["openapi", "--config", "shop/stoa.config.ts"], env);
  expect(stderr).toBe("");
  const { paths } = JSON.parse(stdout) as { paths: Record<string, Record<string, Operation>> };
  const without: string[] = [];
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(methods)) {
      const [[status, { content }] = ["", {}]] = Object.entries(responses);
      const { schema = {} } = content?.["application/json"] ?? {};
      if (status !== "204" && Object.keys(schema).length === 0) without.push(`${method} ${path}`);
    }
  }
  expect(without).toEqual([]);
  // Further responses do not replace those that a command has.
  if (template === "events") expect(paths["/orders"]?.["post"]?.responses).toHaveProperty("504");
});
