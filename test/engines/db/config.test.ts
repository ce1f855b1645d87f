import { inspect } from "node:util";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { DatabaseConfig } from "../../../src/engines/db/config.js";
import { ValueError } from "../../../src/kit/value-error.js";

describe("DatabaseConfig", () => {
  it("DatabaseConfig reads a URL", () => {
    expect(new DatabaseConfig("postgres://ada:s%40crét@db.example:6543/my%20books")).toMatchObject({
      engine: "postgres",
      host: "db.example",
      port: 6543,
      user: "ada",
      password: "s@crét",
      database: "my books",
      sslmode: "prefer",
      poolSize: 10,
    });
    expect(new DatabaseConfig("postgresql://[::1]/x")).toMatchObject({ host: "::1", port: 5432 });
    expect(new DatabaseConfig("postgres://app@%2Fvar%2Frun%2Fpostgresql/x").host).toBe("/var/run/postgresql");
    expect(new DatabaseConfig("postgres:///x?host=/tmp")).toMatchObject({ host: "/tmp", database: "x" });
  });

  it("DatabaseConfig reads the parameters of a URL by libpq's names and by its own", () => {
    const query = "sslmode=verify-full&sslrootcert=ca.pem&application_name=shop&connect_timeout=3&pool_size=4";
    expect(
      new DatabaseConfig(`postgres://h/x?${query}&statement_timeout=250ms&prepared_statements=false`),
    ).toMatchObject({
      sslmode: "verify-full",
      sslrootcert: "ca.pem",
      applicationName: "shop",
      connectTimeout: 3,
      poolSize: 4,
      statementTimeout: 0.25,
      preparedStatements: false,
    });
    expect(new DatabaseConfig("postgres://h/x?pgbouncer=true").preparedStatements).toBe(false);
  });

  it("DatabaseConfig reads several hosts", () => {
    const config = new DatabaseConfig("postgres://u:p%2C@a:1,[::1]:2,%2Ftmp,c/x?target_session_attrs=primary");
    expect(config).toMatchObject({ host: "a", port: 1, user: "u", password: "p,", targetSessionAttrs: "primary" });
    expect(config.hosts).toEqual([
      { host: "a", port: 1 },
      { host: "::1", port: 2 },
      { host: "/tmp", port: 5432 },
      { host: "c", port: 5432 },
    ]);
    expect(config.address).toBe("a:1,::1:2,/tmp,c:5432/x");
    expect(new DatabaseConfig({ host: "a, b", port: 7 }).hosts).toEqual([
      { host: "a", port: 7 },
      { host: "b", port: 7 },
    ]);
    expect(new DatabaseConfig({ url: "postgres://a:1,b:2/x", host: "c" }).hosts).toEqual([{ host: "c", port: 1 }]);
    expect(new DatabaseConfig({ url: "postgres://a:1,b:2/x", port: 9 }).hosts[1]).toEqual({ host: "b", port: 9 });
    expect(new DatabaseConfig("postgres://a/x").hosts).toEqual([{ host: "a", port: 5432 }]);
  });

  describe("libpq's variables", () => {
    afterEach(() => {
      vi.unstubAllEnvs();
    });

    it("The variables of libpq are the defaults for fields and URL", () => {
      vi.stubEnv("PGHOST", "env.example");
      vi.stubEnv("PGPORT", "6543");
      vi.stubEnv("PGUSER", "env");
      vi.stubEnv("PGPASSWORD", "secret");
      vi.stubEnv("PGSSLMODE", "verify-full");
      vi.stubEnv("PGCONNECT_TIMEOUT", "3");
      vi.stubEnv("PGAPPNAME", "");
      expect(new DatabaseConfig({ database: "x" })).toMatchObject({
        host: "env.example",
        port: 6543,
        user: "env",
        password: "secret",
        sslmode: "verify-full",
        connectTimeout: 3,
        applicationName: "stoa",
      });
      expect(new DatabaseConfig({ url: "postgres://ada@h:1/x?sslmode=require", user: "field" })).toMatchObject({
        host: "h",
        port: 1,
        user: "field",
        sslmode: "require",
      });
      expect(new DatabaseConfig("pglite:").user).toBeUndefined();
    });

    it.each([
      ["PGHOST", "h.example", "host", "h.example"],
      ["PGPORT", "6543", "port", 6543],
      ["PGUSER", "ada", "user", "ada"],
      ["PGPASSWORD", "p", "password", "p"],
      ["PGDATABASE", "shop", "database", "shop"],
      ["PGSSLMODE", "require", "sslmode", "require"],
      ["PGSSLROOTCERT", "ca.pem", "sslrootcert", "ca.pem"],
      ["PGSSLCERT", "c.pem", "sslcert", "c.pem"],
      ["PGSSLKEY", "k.pem", "sslkey", "k.pem"],
      ["PGREQUIREAUTH", "scram-sha-256", "requireAuth", "scram-sha-256"],
      ["PGCHANNELBINDING", "require", "channelBinding", "require"],
      ["PGTARGETSESSIONATTRS", "standby", "targetSessionAttrs", "standby"],
      ["PGAPPNAME", "till", "applicationName", "till"],
      ["PGCONNECT_TIMEOUT", "2", "connectTimeout", 2],
    ] as const)("The variable %s with the value %s sets the option %s", (variable, text, option, value) => {
      vi.stubEnv(variable, text);
      expect(new DatabaseConfig({})[option]).toBe(value);
    });

    it("An invalid variable of libpq is refused with an error that names it", () => {
      vi.stubEnv("PGPORT", "many");
      expect(() => new DatabaseConfig({ host: "h" })).toThrow("option 'PGPORT' in the environment must be an integer");
    });
  });

  it.each([
    ["pool_size", "poolSize"],
    ["acquire_timeout", "acquireTimeout"],
    ["idle_timeout", "idleTimeout"],
    ["statement_timeout", "statementTimeout"],
    ["connect_timeout", "connectTimeout"],
    ["max_replica_lag", "maxReplicaLag"],
  ] as const)("The URL parameters %s and %s are read as numbers", (snake, camel) => {
    for (const name of [snake, camel]) expect(new DatabaseConfig(`postgres://h/x?${name}=7`)[camel]).toBe(7);
    expect(() => new DatabaseConfig(`postgres://h/x?${camel}=`)).toThrow(camel);
  });

  it("The times of DatabaseConfig are durations in seconds", () => {
    vi.stubEnv("PGCONNECT_TIMEOUT", undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(new DatabaseConfig({ host: "h" })).toMatchObject({
      connectTimeout: 5,
      acquireTimeout: 4,
      statementTimeout: 30,
      idleTimeout: 60,
      maxLifetime: 1800,
      maxReplicaLag: 0,
    });
    expect(new DatabaseConfig({ host: "h", statement_timeout: "250ms", maxLifetime: "2h" })).toMatchObject({
      statementTimeout: 0.25,
      statement_timeout: 0.25,
      maxLifetime: 7200,
    });
    expect(() => new DatabaseConfig({ acquireTimeout: 4_000_000 })).toThrow("must be a duration from 1ms to 24d");
  });

  it("DatabaseConfig accepts fields in either spelling, and arguments in the contract's order", () => {
    expect(new DatabaseConfig({ host: "h", database: "x", pool_size: 3 }).poolSize).toBe(3);
    expect(new DatabaseConfig({ host: "h", poolSize: 3 }).pool_size).toBe(3);
    expect(new DatabaseConfig("postgres://h/x", 7, "require", "ca.pem")).toMatchObject({
      poolSize: 7,
      sslmode: "require",
      sslrootcert: "ca.pem",
    });
  });

  it("A field of DatabaseConfig takes precedence over the same value in the URL", () => {
    expect(new DatabaseConfig({ url: "postgres://a:b@h/x?pool_size=1", poolSize: 2, password: "c" })).toMatchObject({
      user: "a",
      password: "c",
      poolSize: 2,
    });
  });

  it.each([
    ["pglite:", null],
    ["pglite://", null],
    ["pglite:memory", null],
    ["pglite:./data", "./data"],
    ["pglite:/var/data", "/var/data"],
    ["pglite:///var/data", "/var/data"],
    ["pglite:my%20data?acquire_timeout=9", "my data"],
  ])("The URL %s selects the embedded database in the folder %s", (url, folder) => {
    expect(new DatabaseConfig(url)).toMatchObject({ engine: "pglite", folder });
  });

  it.each([
    [{ url: "mysql://h/x" }, "must begin with postgres://, postgresql:// or pglite:"],
    [{ url: "postgres://u:p#ss@h/x" }, "percent-encoded"],
    [{ url: "postgres://u:%zz@h/x" }, "percent-encoded"],
    [{ url: "postgres://a,,b/x" }, "an empty host"],
    [{ host: "a,,b" }, "an empty host"],
    [{ url: "postgres://a:1,b:x/x" }, "not valid"],
    [{ targetSessionAttrs: "writer" }, "option 'targetSessionAttrs' in DatabaseConfig must be one of"],
    [{ password: 5 }, "option 'password' in DatabaseConfig must be a string or a function"],
    [{ url: "postgres://h/x?sslmode=yes" }, "option 'sslmode' in the query of the database URL must be one of"],
    [
      { url: "postgres://h/x?pool_size=many" },
      "option 'pool_size' in the query of the database URL must be an integer",
    ],
    [
      { url: "postgres://h/x?pool_sise=3" },
      "unknown option 'pool_sise' in the query of the database URL; did you mean",
    ],
    [{ poolSize: 0 }, "option 'poolSize' in DatabaseConfig must be an integer from 1 to 10000, not 0"],
    [{ pool_siez: 3 }, "did you mean 'pool_size'?"],
    [{ sslmode: "on" }, "option 'sslmode' in DatabaseConfig must be one of"],
    [{ requireAuth: "scram" }, "option 'requireAuth' in DatabaseConfig must be a list of none, password, md5, scram"],
    [{ requireAuth: "md5,!none" }, "all or none of them with a '!'"],
    [{ requireAuth: "md5,md5" }, "option 'requireAuth'"],
    [{ requireAuth: "" }, "option 'requireAuth'"],
    [{ url: "postgres://h/x?require_auth=all" }, "option 'require_auth' in the query of the database URL"],
    [{ channelBinding: "yes" }, "option 'channelBinding' in DatabaseConfig must be one of"],
    [{ statementTimeout: -1 }, "option 'statementTimeout'"],
  ])("DatabaseConfig refuses %o", (options, message) => {
    expect(() => new DatabaseConfig(options as object)).toThrow(ValueError);
    expect(() => new DatabaseConfig(options as object)).toThrow(message);
  });

  it("A replica has the options of the primary, except for those in its own URL", () => {
    const { replicaConfigs } = new DatabaseConfig({
      url: "postgres://ada:hunter2@primary:6000/shop?target_session_attrs=read-write",
      poolSize: 3,
      replicas: ["postgres://first", "postgres://bob:pass@second:7000/copy?pool_size=5"],
      logQueries: true,
    });
    expect(replicaConfigs).toMatchObject([
      { host: "first", port: 5432, user: "ada", password: "hunter2", database: "shop", poolSize: 3 },
      { host: "second", port: 7000, user: "bob", password: "pass", database: "copy", poolSize: 5 },
    ]);
    expect(replicaConfigs[0]).toMatchObject({ targetSessionAttrs: "any", logQueries: null, replicaConfigs: [] });
    expect(new DatabaseConfig({ url: "postgres://h/x", max_replica_lag: 5 }).maxReplicaLag).toBe(5);
  });

  it.each([
    [{ replicas: "postgres://ada:hunter2@h" }, "option 'replicas' in DatabaseConfig must be a list of URLs"],
    [{ replicas: [5] }, "option 'replicas' in DatabaseConfig must be a list of URLs"],
    [{ replicas: ["hunter2"] }, "the database URL must begin with"],
    [{ replicas: ["pglite:"] }, "a replica cannot be an embedded database"],
    [{ url: "pglite:", replicas: ["postgres://h"] }, "an embedded database has none"],
  ])("DatabaseConfig refuses the replicas of %j, without showing a password", (options, message) => {
    const refused = (): DatabaseConfig => new DatabaseConfig(options as object);
    expect(refused).toThrow(message);
    expect(refused).not.toThrow("hunter2");
    expect(inspect(new DatabaseConfig({ replicas: ["postgres://a:hunter2@h"] }), { depth: 9 })).not.toContain(
      "hunter2",
    );
  });

  it("A printed DatabaseConfig shows neither the password nor the URL that contains it", () => {
    const config = new DatabaseConfig("postgres://ada:hunter2@h/x");
    expect(inspect(config) + JSON.stringify(config) + String(Object.values(config))).not.toContain("hunter2");
    expect(config.address).toBe("h:5432/x");
    for (const options of [{ url: "postgres://u:hunter2#@h/x" }, { url: "hunter2" }, { password: 42_424_242 }]) {
      let message = "";
      try {
        new DatabaseConfig(options as object);
      } catch (error) {
        message = String((error as Error).stack);
      }
      expect(message).toContain("ValueError");
      expect(message).not.toMatch(/hunter2(?!.*config\.test)|42424242/);
    }
  });
});
