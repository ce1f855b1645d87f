import { randomUUID } from "node:crypto";
import { App, type KvStoreOptions } from "stoa";
import { serve, type TestClient, type TestServer, testClient } from "stoa/testing";
import { onTestFinished } from "vitest";
import { redisUrl, testStore } from "./store.js";

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

export interface TestedApp {
  readonly app: App;
  readonly server: TestServer;
  get(path: string, headers?: Record<string, string>): Promise<globalThis.Response>;
}

/** Applications that have nothing in common but the key-value store; their host is the same. */
export async function twoClients(
  setup: (app: App) => void,
  options: KvStoreOptions = {},
): Promise<[TestClient, TestClient]> {
  const create = await creator(setup, options);
  const start = (): TestClient => {
    const client = testClient(create(), { debug: false });
    onTestFinished(() => client.stop());
    return client;
  };
  return [start(), start()];
}

/** The same, each on a port. */
export async function twoApps(
  setup: (app: App) => void,
  options: KvStoreOptions = {},
): Promise<[TestedApp, TestedApp]> {
  const create = await creator(setup, options);
  const start = async (): Promise<TestedApp> => {
    const app = create();
    const server = await serve(app, { debug: false });
    onTestFinished(() => server.close());
    return { app, server, get: (path, headers = {}) => fetch(new URL(path, server.url), { headers }) };
  };
  return [await start(), await start()];
}

async function creator(setup: (app: App) => void, options: KvStoreOptions): Promise<() => App> {
  const prefix = `test:${randomUUID()}:`;
  // Deletes the keys when the test has finished.
  if (options.url === undefined) await testStore({ prefix });
  return () => {
    const app = new App().enableKvstore({ url: redisUrl, prefix, ...options });
    app.logger = silent;
    setup(app);
    return app;
  };
}
