import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";
import { readBlueprintOptions, readRouteOptions, readWebSocketOptions } from "../../src/routing/options.js";

interface Declared {
  readonly owner: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readGiven(given: readonly unknown[]): object;
}

const sets = vi.hoisted(() => [] as Declared[]);

vi.mock("../../src/kit/config.js", async (load) => {
  const real = await load<typeof import("../../src/kit/config.js")>();
  const kept = <T extends Declared>(set: T): T => {
    sets.push(set);
    return set;
  };
  return {
    ...real,
    options: (...given: Parameters<typeof real.options>) => kept(real.options(...given)),
    config: (...given: Parameters<typeof real.config>) => {
      const made = real.config(...given);
      kept(made.options);
      return made;
    },
    checkedOptions: (checks: Readonly<Record<string, never>>) => {
      const read = real.checkedOptions(checks);
      const owner = `{ ${Object.keys(checks)[0]} ... }`;
      kept({ owner, fields: checks, readGiven: ([given]) => read(owner, given) });
      return read;
    },
  };
});

it("Null counts as not given for every option of every call and class", async () => {
  const sources = fileURLToPath(new URL("../../src/", import.meta.url));
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter(
    (name) =>
      name.endsWith(".ts") &&
      /\b(?:options|config|checkedOptions|declare)[(<]/.test(readFileSync(sources + name, "utf8")),
  );
  for (const file of files) if (!/-thread\.ts$|^cli\/(?:main|bin)/.test(file)) await import(sources + file);
  for (const read of [
    readRouteOptions.bind(null, "a route"),
    readWebSocketOptions.bind(null, "a socket"),
    readBlueprintOptions,
  ]) {
    read({});
  }
  const found = sets.flatMap(({ owner, fields, readGiven }) =>
    Object.keys(fields)
      .filter((name) => Object.keys(readGiven([{ [name]: null }])).length > 0)
      .map((name) => `${owner}: ${name}`),
  );
  // Of these null is a value: a default, a change that removes something, a place before all migrations, a key or data.
  expect([...new Set(found)].sort()).toEqual([
    "HttpError: body",
    "down(): to",
    "join(): info",
    "publish(): key",
    "request(): key",
    "sql(): from",
    "sql(): to",
    "stream(): info",
    "{ null ... }: default",
    "{ type ... }: collation",
    "{ type ... }: comment",
    "{ type ... }: default",
    "{ type ... }: generated",
  ]);
  expect(sets.length).toBeGreaterThan(140);
});
