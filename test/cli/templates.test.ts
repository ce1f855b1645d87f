import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { ensureBuilt } from "../../scripts/setup.mjs";
import { commands } from "../../src/cli/commands.js";
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

interface Service {
  readonly build?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly volumes?: readonly string[];
}

// The tests of create-stoa follow the Dockerfile.
it.each([
  ["api", ["app"]],
  ["saas", ["app", "db", "migrate"]],
  ["events", ["app", "broker", "db", "migrate"]],
])("The services of the template %s exist, and run commands that exist", async (template, names) => {
  const folder = join(import.meta.dirname, "../../templates");
  const compose = parse(await readFile(join(folder, template, "compose.yaml"), "utf8")) as {
    services: Record<string, Service>;
    volumes?: Record<string, unknown>;
  };
  expect(Object.keys(compose.services).sort()).toEqual(names);
  for (const [name, service] of Object.entries(compose.services)) {
    expect(
      [service.build, service.image].filter((source) => source !== undefined),
      name,
    ).toHaveLength(1);
    expect(names).toEqual(expect.arrayContaining(Object.keys(service.depends_on ?? {})));
    for (const volume of service.volumes ?? []) expect(compose.volumes).toHaveProperty(volume.split(":")[0]!);
    for (const [, command] of (service.command ?? []).join(" ").matchAll(/stoa (\w+)/g)) {
      expect(Object.keys(commands)).toContain(command);
    }
  }
});
