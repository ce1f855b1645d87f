import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { readCommandLine } from "../../../src/server/command-line.js";
import { readEnvironment } from "../../../src/server/environment.js";
import { planRun, type RunOptions, type RunPlan, readRunOptions } from "../../../src/server/run-options.js";

function plan(args: string[], options: RunOptions = {}, variables: Record<string, string> = {}): RunPlan {
  return planRun(readCommandLine(args).options, readRunOptions(options), readEnvironment(variables));
}

describe("defaults of the contract", () => {
  it("The default is 127.0.0.1:8000 in development with debug on and one worker", () => {
    expect(plan([])).toMatchObject({
      address: { host: "127.0.0.1", port: 8000 },
      settings: { env: "development", debug: true, workers: 1, requestTimeout: 30 },
      reload: false,
      transport: "auto",
      tls: null,
      shutdownTimeout: 10,
      banner: true,
    });
  });

  it("Production turns debug off and starts one worker per CPU", () => {
    expect(plan([], { env: "production" }).settings).toMatchObject({
      debug: false,
      workers: availableParallelism(),
    });
  });

  it("Production with debug on starts one worker", () => {
    expect(plan(["--debug"], { env: "production" }).settings).toMatchObject({ debug: true, workers: 1 });
  });

  it("Development with debug off starts one worker", () => {
    expect(plan(["--no-debug"]).settings).toMatchObject({ env: "development", debug: false, workers: 1 });
  });

  it("Requests are logged in debug mode, and otherwise as the application decides if the option is not given", () => {
    expect(plan([]).settings.logs).toBe(true);
    expect(plan(["--no-debug"]).settings.logs).toBeUndefined();
    expect(plan(["--no-logs"], { logs: true }).settings.logs).toBe(false);
    expect(plan(["--logs"], { logs: false }).settings.logs).toBe(true);
  });

  it("Reload uses one worker", () => {
    expect(plan(["--reload", "--workers", "4"])).toMatchObject({ reload: true, settings: { workers: 1 } });
  });
});

describe("precedence", () => {
  it("Arguments take precedence over options, and options over the environment", () => {
    const variables = { STOA_HOST: "10.0.0.1", STOA_PORT: "1", STOA_WORKERS: "2", STOA_ENV: "production" };
    const result = plan(["--port", "3"], { port: 2, host: "10.0.0.2" }, variables);
    expect(result.address).toEqual({ host: "10.0.0.2", port: 3 });
    expect(result.settings).toMatchObject({ env: "production", workers: 2 });
  });

  it("The transport is taken from argument, option and environment, in this order", () => {
    expect(plan([], {}, { STOA_TRANSPORT: "net" }).transport).toBe("net");
    expect(plan([], { transport: "node" }, { STOA_TRANSPORT: "net" }).transport).toBe("node");
    expect(plan(["--transport", "native"], { transport: "node" }).transport).toBe("native");
    expect(() => plan([], {}, { STOA_TRANSPORT: "tcp" })).toThrow("STOA_TRANSPORT must be one of");
  });

  it("The native transport refuses TLS and HTTP/2, which need the sockets of Node", () => {
    expect(() => plan(["--transport=native", "--http2"])).toThrow("http2 and tls cannot be used");
    expect(() => plan([], { transport: "native", tls: { key: "k", cert: "c" } })).toThrow(
      "http2 and tls cannot be used",
    );
  });

  it("A port as an argument takes precedence over a Unix socket as an option", () => {
    expect(plan([], { path: "/tmp/a.sock" }).address.path).toBe("/tmp/a.sock");
    expect(plan(["--port", "9000"], { path: "/tmp/a.sock" }).address).toEqual({ host: "127.0.0.1", port: 9000 });
  });
});

describe("options of run()", () => {
  it("Options of run() accept either spelling, and null as not given", () => {
    expect(plan([], { shutdown_timeout: 3, headTimeout: 4, debug: null, workers: null })).toMatchObject({
      shutdownTimeout: 3,
      limits: { headTimeout: 4, bodyTimeout: 30 },
      settings: { debug: true, workers: 1 },
    });
  });

  it("Times of run() are given in seconds or with a unit", () => {
    const { limits, settings, shutdownTimeout, stuckTimeout } = plan([], {
      requestTimeout: "2m",
      shutdownTimeout: "1500ms",
      stuckTimeout: 45,
      keepAliveTimeout: "1m",
    });
    expect([settings.requestTimeout, shutdownTimeout, stuckTimeout, limits.keepAliveTimeout]).toEqual([
      120, 1.5, 45, 60,
    ]);
  });

  it.each([
    [{ port: 70_000 }, "option 'port' in run() must be an integer from 0 to 65535, not 70000"],
    [{ port: "80" }, "option 'port' in run() must be an integer from 0 to 65535, not \"80\""],
    [{ env: "prod" }, 'option \'env\' in run() must be one of "development", "production", not "prod"'],
    [{ workers: 0 }, "option 'workers' in run() must be an integer from 1 to 1024, not 0"],
    [{ prot: 80 }, "unknown option 'prot' in run(); did you mean 'port'?"],
    [{ shutdown_timeot: 1 }, "unknown option 'shutdown_timeot' in run(); did you mean 'shutdown_timeout'?"],
    [{ tls: { cert: "a.pem" } }, "option 'key' is required in tls"],
    [{ tls: { cert: "a.pem", key: "b.pem", caa: "" } }, "unknown option 'caa' in tls; did you mean 'ca'?"],
    [{ transport: "h2" }, 'option \'transport\' in run() must be one of "auto", "native", "net", "node", not "h2"'],
    [{ headTimeout: "10 s" }, "option 'headTimeout' in run() must be a duration: seconds as a number, or text"],
    [{ stuck_timeout: "60d" }, "option 'stuck_timeout' in run() must be a duration from 0 to 24d, not \"60d\""],
    [8000, "run() takes an object of options, not 8000"],
  ])("run() refuses the options %j", (options, message) => {
    expect(() => readRunOptions(options as RunOptions)).toThrow(message);
  });

  it("Workers and reload are refused in a process that belongs to the caller", () => {
    expect(() => plan([], { exit: false, workers: 2 })).toThrow("cannot be used with `exit: false`");
    expect(() => plan([], { exit: false, reload: true })).toThrow("cannot be used with `exit: false`");
    expect(plan([], { exit: false, env: "production" }).settings.workers).toBe(1);
    expect(plan([], { exit: false }, { STOA_RELOAD: "1" }).reload).toBe(false);
  });
});

describe("command line", () => {
  it("Arguments are read after a space and after an equals sign, and the last one counts", () => {
    expect(readCommandLine(["--port", "1", "--port=9000", "--host=::1", "--env", "production"]).options).toEqual({
      port: 9000,
      host: "::1",
      env: "production",
    });
  });

  it("Switches on the command line are read in all their forms", () => {
    expect(readCommandLine(["--debug", "--no-reload", "--no-logs"]).options).toEqual({
      debug: true,
      reload: false,
      logs: false,
    });
    expect(readCommandLine(["--debug=false", "--logs=on"]).options).toEqual({ debug: false, logs: true });
  });

  it("Arguments of the program itself are ignored", () => {
    const args = ["serve", "--config", "a.json", "-p", "1", "--portable", "--", "--port", "x"];
    expect(readCommandLine(args)).toMatchObject({ options: {}, help: false });
  });

  it.each([
    ["--wokers", "--workers"],
    ["--prot", "--port"],
    ["--Port", "--port"],
    ["--prt=1", "--port"],
    ["--no-log", "--logs"],
    ["--relaod", "--reload"],
    ["--dist", undefined],
    ["--config", undefined],
  ])("The argument %s makes the server ask for %s", (argument, meant) => {
    const { doubts } = readCommandLine([argument]);
    const name = argument.replace("no-", "").replace(/=.*/, "");
    expect(doubts).toEqual(meant ? [`${name} is no argument of the server; did you mean ${meant}?`] : []);
  });

  it("The argument --help is recognised", () => {
    expect(readCommandLine(["--help"]).help).toBe(true);
  });

  it.each([
    [["--port", "abc"], '--port must be an integer from 0 to 65535, not "abc"'],
    [["--port=-1"], '--port must be an integer from 0 to 65535, not "-1"'],
    [["--port="], '--port must be an integer from 0 to 65535, not ""'],
    [["--port", "1e3"], '--port must be an integer from 0 to 65535, not "1e3"'],
    [["--port"], "--port needs a value"],
    [["--host", "--debug"], "--host needs a value"],
    [["--workers", "0"], '--workers must be an integer from 1 to 1024, not "0"'],
    [["--env", "test"], '--env must be one of "development", "production", not "test"'],
    [["--debug=perhaps"], '--debug must be true or false, not "perhaps"'],
  ])("The arguments %j are refused", (args, message) => {
    expect(() => readCommandLine(args)).toThrow(message);
  });
});

describe("environment", () => {
  it("The variables of Stoa take precedence over the common ones", () => {
    expect(readEnvironment({ PORT: "1", NODE_ENV: "production" })).toEqual({ port: 1, env: "production" });
    expect(readEnvironment({ PORT: "1", STOA_PORT: "2", NODE_ENV: "production", STOA_ENV: "development" })).toEqual({
      port: 2,
      env: "development",
    });
  });

  it("NODE_ENV is used only if it is one of the contract's names", () => {
    expect(readEnvironment({ NODE_ENV: "test" })).toEqual({});
  });

  it("Switches in the environment are read, and an empty variable is absent", () => {
    expect(readEnvironment({ STOA_DEBUG: "0", STOA_LOGS: "true", STOA_RELOAD: "" })).toEqual({
      debug: false,
      logs: true,
    });
  });

  it("The address that Kubernetes puts into STOA_PORT for a service of that name is ignored", () => {
    expect(readEnvironment({ STOA_PORT: "tcp://10.0.0.1:80" })).toEqual({});
  });

  it.each([
    [{ STOA_PORT: "x" }, 'STOA_PORT must be an integer from 0 to 65535, not "x"'],
    [{ PORT: "99999" }, 'PORT must be an integer from 0 to 65535, not "99999"'],
    [{ STOA_ENV: "staging" }, 'STOA_ENV must be one of "development", "production", not "staging"'],
    [{ STOA_DEBUG: "2" }, 'STOA_DEBUG must be true or false, not "2"'],
  ])("The environment %j is refused with the variable's name", (variables, message) => {
    expect(() => readEnvironment(variables as Record<string, string>)).toThrow(message);
  });
});
