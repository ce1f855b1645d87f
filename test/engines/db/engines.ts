import { randomBytes } from "node:crypto";
import { afterAll } from "vitest";
import type { Database } from "../../../src/engines/db/database.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { isLong } from "../../support/long.js";

export interface TestEngine {
  readonly name: "postgres" | "pglite";
  /** Makes an empty database; resolves to its URL and a way to drop it. */
  make(): Promise<{ readonly url: string; drop(): Promise<void> }>;
}

const embedded: TestEngine = { name: "pglite", make: async () => ({ url: "pglite:", drop: async () => {} }) };

/** The engines that a suite runs against: the server where there is one, and the embedded one without it or with `--all`. */
export function engines(server: string | undefined): readonly TestEngine[] {
  return server === undefined || isLong ? bothEngines(server) : [onServer(server)];
}

/** For suites of what the engines themselves do: always the embedded one, and the server where there is one. */
export function bothEngines(server: string | undefined): readonly TestEngine[] {
  return server === undefined ? [embedded] : [embedded, onServer(server)];
}

/**
 * For files that need databases of their own, whichever engine: each call makes an empty one. An embedded one takes a second of
 * CPU time to open, so that they are on the server where there is one, and embedded without it or with `--all`.
 */
export function emptyDatabases(server: string | undefined, embeddedUrl = "pglite:"): () => Promise<string> {
  const made: { drop(): Promise<void> }[] = [];
  afterAll(() => Promise.all(made.map(({ drop }) => drop())));
  return async () => {
    const [engine] = engines(server);
    if (engine === embedded) return embeddedUrl;
    const database = await engine!.make();
    made.push(database);
    return database.url;
  };
}

function onServer(server: string): TestEngine {
  return { name: "postgres", make: () => makeDatabase(server) };
}

/** An empty database on the server. */
export async function makeDatabase(server: string): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  await withServer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => withServer(server, `drop database ${name} with (force)`) };
}

export async function withServer(server: string, statement: string): Promise<void> {
  const database = await openDatabase({ url: server, poolSize: 1 });
  try {
    await database.execute(statement);
  } finally {
    await database.close();
  }
}

/** A role with the password `hunter2`. Several test files may make the same one at once. */
export async function makeRole(database: Database, name: string): Promise<void> {
  await database.script(
    `do $$ begin create role ${name} login password 'hunter2';
    exception when duplicate_object or unique_violation then null; end $$`,
  );
}
