import { inspect } from "node:util";
import { App, KvStoreConfig, openDatabase, openKvStore, ValueError } from "stoa";
import { describe, expect, it } from "vitest";

describe("KvStoreConfig", () => {
  it("KvStoreConfig has the defaults of a server on this machine", () => {
    const config = new KvStoreConfig();
    expect(config).toMatchObject({ poolSize: 2, clusterMode: false, prefix: "", database: 0, tls: null });
    expect(config.servers).toEqual([{ host: "127.0.0.1", port: 6379 }]);
    expect(config.url).toBe("redis://127.0.0.1:6379");
  });

  it("KvStoreConfig treats null and undefined as the defaults", () => {
    expect(KvStoreConfig.from([null]).address).toBe("127.0.0.1:6379");
    expect(KvStoreConfig.from([]).address).toBe("127.0.0.1:6379");
    expect(new KvStoreConfig(null).address).toBe("127.0.0.1:6379");
  });

  it("KvStoreConfig accepts the arguments of the contract in their order, and options in both spellings", () => {
    const positional = new KvStoreConfig("redis://kv:7000", 5, true);
    expect(positional).toMatchObject({ poolSize: 5, clusterMode: true });
    const named = new KvStoreConfig({ url: "redis://kv:7000", pool_size: 3, cluster_mode: true });
    expect(named).toMatchObject({ poolSize: 3, pool_size: 3, clusterMode: true, cluster_mode: true });
  });

  it("KvStoreConfig reads user, password and database from the URL; fields take precedence", () => {
    const config = new KvStoreConfig({ url: "rediss://app:s%40cret@kv.example:6380/3", database: 4 });
    expect(config).toMatchObject({ username: "app", database: 4 });
    expect(config.password).toBe("s@cret");
    expect(config.tls).toEqual({});
    expect(config.servers).toEqual([{ host: "kv.example", port: 6380 }]);
  });

  it("The timeouts of KvStoreConfig are durations in seconds", () => {
    expect(new KvStoreConfig()).toMatchObject({ commandTimeout: 2, connectTimeout: 5 });
    const config = new KvStoreConfig({ commandTimeout: "250ms", connect_timeout: 3 });
    expect(config).toMatchObject({ commandTimeout: 0.25, command_timeout: 0.25, connectTimeout: 3 });
  });

  it("KvStoreConfig reads the nodes of a cluster", () => {
    const config = new KvStoreConfig({ url: "valkey://a:7000", clusterMode: true, nodes: ["b:7001", "[::1]:7002"] });
    expect(config.servers).toEqual([
      { host: "a", port: 7000 },
      { host: "b", port: 7001 },
      { host: "::1", port: 7002 },
    ]);
  });

  it.each([
    [{ url: "http://kv" }, "must begin with redis://"],
    [{ url: "" }, "option 'url' in KvStoreConfig must be a non-empty string"],
    [{ url: 7 }, "option 'url' in KvStoreConfig must be a non-empty string"],
    [{ url: "redis://kv/name" }, "must be the number of a database"],
    [{ url: "redis://kv?db=1" }, "takes no query"],
    [{ url: "redis://kv:99999" }, "malformed"],
    [{ url: "redis://:%zz@kv" }, "malformed"],
    [{ poolSize: 0 }, "option 'poolSize' in KvStoreConfig must be an integer from 1 to 1000, not 0"],
    [{ pool_size: "2" }, "option 'pool_size' in KvStoreConfig must be an integer"],
    [{ clusterMode: 1 }, "option 'clusterMode' in KvStoreConfig must be true or false, not 1"],
    [{ nodes: ["b"], clusterMode: true }, "must be a list of which each item is an address: host:port"],
    [{ nodes: ["b:7000"] }, "option 'nodes' in KvStoreConfig goes with clusterMode only"],
    [{ database: 1, clusterMode: true }, "option 'database' in KvStoreConfig must be 0 in cluster mode"],
    [{ username: "app" }, "option 'username' in KvStoreConfig needs a password"],
    [{ commandTimeout: 0 }, "option 'commandTimeout' in KvStoreConfig must be a duration from 1ms to 24d, not 0"],
    [{ connectTimeout: 5_000_000 }, "option 'connectTimeout' in KvStoreConfig must be a duration from 1ms to 24d"],
    [{ tls: "yes" }, "option 'tls' in KvStoreConfig must be true or false, or an object"],
    [{ tls: { cert: "x" } }, "needs both 'cert' and 'key'"],
    [{ tls: { cA: "x" } }, "unknown option 'cA' in option 'tls' of KvStoreConfig"],
    [{ url: "rediss://kv", tls: false }, "option 'tls' in KvStoreConfig is false, but the URL asks for TLS"],
    [{ poolsize: 2 }, "unknown option 'poolsize' in KvStoreConfig; did you mean 'poolSize'?"],
  ])("KvStoreConfig refuses %j", (options, message) => {
    expect(() => new KvStoreConfig(options as object)).toThrow(ValueError);
    expect(() => new KvStoreConfig(options as object)).toThrow(message);
  });

  it("KvStoreConfig shows no password: in messages, when it is printed, and as JSON", () => {
    const url = "redis://app:hunter2@kv:6379/x";
    expect(() => new KvStoreConfig(url)).toThrow(expect.not.stringContaining("hunter2") as never);
    expect(() => new KvStoreConfig({ password: 42 as never })).toThrow(/must be a non-empty string$/);
    const config = new KvStoreConfig("redis://app:hunter2@kv:6379/1");
    expect(`${inspect(config)} ${JSON.stringify(config)} ${config.address}`).not.toContain("hunter2");
  });
});

describe("enableKvstore", () => {
  it("enableKvstore() exists in both spellings and refuses a second call", () => {
    const app = new App();
    expect(app.enable_kvstore()).toBe(app);
    expect(() => app.enableKvstore({ url: "redis://other" })).toThrow("enableKvstore has been called already");
  });

  it("openKvStore() and openDatabase() refuse an unknown option before they connect", async () => {
    await expect(openKvStore(null, { loger: console } as never)).rejects.toThrow("did you mean 'logger'?");
    await expect(openDatabase("postgres://a@db/b", { loger: 1 } as never)).rejects.toThrow("did you mean 'logger'?");
  });

  it("enableKvstore() refuses invalid options at the call", () => {
    expect(() => new App().enableKvstore({ poolSize: -1 })).toThrow("option 'poolSize' in KvStoreConfig");
  });

  it("app.kvstore without enableKvstore() throws an error that names the call", () => {
    expect(() => new App().kvstore).toThrow("app.kvstore needs app.enableKvstore()");
  });

  it("A call on app.kvstore before the start throws an error that says so", () => {
    const app = new App().enableKvstore();
    expect(() => app.kvstore.get("a")).toThrow("app.kvstore.get was used before the application was started");
  });
});
