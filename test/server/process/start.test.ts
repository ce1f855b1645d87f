import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { run } from "../../../src/server/run.js";
import { createTarget } from "./fixtures/target.js";
import { get, Program, patient } from "./program.js";

const folder = mkdtempSync(join(tmpdir(), "stoa-start-"));
const certificate = join(folder, "cert.pem");
const key = join(folder, "key.pem");
const otherKey = join(folder, "other.pem");

beforeAll(() => {
  for (const file of [key, otherKey]) {
    execFileSync(
      "openssl",
      // biome-ignore format: one command line
      ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", file, "-out", file === key ? certificate : join(folder, "unused.pem")],
      { stdio: "ignore" },
    );
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

async function occupiedPort(): Promise<number> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

describe("The name of the application", () => {
  it("The name given to run() is in the banner, and a mistyped argument is mentioned", async () => {
    const program = new Program({ options: { name: "Bookshop" }, args: ["--wokers", "2"] });
    await program.shows(/Bookshop is listening on/);
    expect(program.stderr).toContain("--wokers is no argument of the server; did you mean --workers?");
  });
});

describe("a start that succeeds", patient, () => {
  it("A start prints the real address, and the server responds there", async () => {
    const program = new Program({ args: ["--host", "127.0.0.1", "--mine"] });
    const url = await program.url();
    expect(url).not.toContain(":0");
    expect(await get(url)).toMatchObject({ status: 200, text: "hello" });
    await program.shows(/running http/);
    expect(program.stdout).toContain(`${url}/docs`);
    expect(program.stdout).toContain('"env":"development","debug":true');
    expect(program.stderr).toBe("");
  });

  it("A start in production writes one log line and prints nothing else", async () => {
    const program = new Program({ args: ["--env", "production", "--workers", "1"] });
    const line = await program.shows(/^\{"level":"info".*$/m);
    expect(JSON.parse(line[0])).toMatchObject({ env: "production", debug: false, workers: 1, pid: program.child.pid });
    expect(program.stdout).not.toContain("Stoa is");
  });

  it("A server uses node:http if that is configured", async () => {
    const program = new Program({ options: { transport: "node" } });
    expect(await get(await program.url())).toMatchObject({ status: 200, text: "hello" });
  });

  it("A server uses HTTPS with the files of a certificate", async () => {
    const program = new Program({ options: { tls: { cert: certificate, key } } });
    const url = await program.url();
    expect(url).toMatch(/^https:/);
    const { request } = await import("node:https");
    const status = await new Promise((resolve, reject) => {
      request(url, { rejectUnauthorized: false, agent: false }, (response) => resolve(response.resume().statusCode))
        .on("error", reject)
        .end();
    });
    expect(status).toBe(200);
  });

  it("A server listens on a Unix socket, also if a killed server has left one behind", async () => {
    const path = join(folder, "a.sock");
    const killed = new Program({ options: { path } });
    await killed.url();
    killed.child.kill("SIGKILL");
    await killed.exited;
    expect(existsSync(path)).toBe(true);

    const program = new Program({ options: { path } });
    expect(await program.url()).toBe(`unix:${path}`);
    expect(await get("http://localhost/", { socketPath: path })).toMatchObject({ text: "hello" });
    program.child.kill("SIGTERM");
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(existsSync(path)).toBe(false);
  });

  it("The argument --help prints the arguments and exits", async () => {
    const program = new Program({ args: ["--help"] });
    expect(await program.exited).toMatchObject({ code: 0 });
    expect(program.stdout).toContain("--workers NUMBER");
    expect(program.stdout).not.toContain("startup");
  });

  it("A server ends by itself after close()", async () => {
    const program = new Program({ env: { FAULT: "close" } });
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stdout).toMatch(/drain begins\nshutdown \d+\nclosed\n$/);
  });
});

describe("a start that fails", patient, () => {
  async function failure(options: ConstructorParameters<typeof Program>[0]): Promise<string> {
    const program = new Program(options);
    expect(await program.exited, program.report()).toEqual({ code: 1, signal: null });
    expect(program.stderr.trimEnd().split("\n"), program.report()).toHaveLength(1);
    return program.stderr.trimEnd();
  }

  it("A port in use is reported, and the shutdown hooks of the started parts run", async () => {
    const port = await occupiedPort();
    const program = new Program({ args: [`--port=${port}`] });
    expect(await program.exited).toMatchObject({ code: 1 });
    expect(program.stderr).toBe(`stoa: port ${port} on 127.0.0.1 is already in use; choose another with --port\n`);
    expect(program.stdout).toMatch(/startup \d+\nshutdown \d+\n$/);
  });

  it("A port in use is reported once by several workers", async () => {
    const port = await occupiedPort();
    expect(await failure({ args: ["--workers", "3"], options: { port } })).toBe(
      `stoa: port ${port} on 127.0.0.1 is already in use; choose another with --port`,
    );
  });

  it("A port in use ends the program under --reload too", async () => {
    const port = await occupiedPort();
    expect(await failure({ args: ["--reload"], options: { port } })).toContain("is already in use");
  });

  it("A host that is not this machine's is reported", async () => {
    expect(await failure({ args: ["--host", "192.0.2.1"] })).toBe(
      "stoa: 192.0.2.1 is not an address of this machine; choose another with --host",
    );
  });

  it("A bad argument and a bad option are reported", async () => {
    // A program in one file with the framework has no place that can be told from its own.
    expect(await failure({ args: ["--port", "many"], compile: false })).toBe(
      'stoa: --port must be an integer from 0 to 65535, not "many"',
    );
    expect(await failure({ options: { prot: 1 } as object, compile: false })).toMatch(
      /^stoa: unknown option 'prot' in run\(\); did you mean 'port'\? \(.*\.ts:\d+:\d+\)$/,
    );
  });

  it("A startup hook that fails is reported with its place", async () => {
    expect(await failure({ env: { FAULT: "startup throws" }, compile: false })).toMatch(
      /^stoa: startup failed: Error: the database is away \(.*target\.ts:\d+:\d+\)$/,
    );
  });

  it("A startup hook that fails in every worker is reported once", async () => {
    expect(await failure({ args: ["--workers", "2"], env: { FAULT: "startup throws" } })).toContain(
      "startup failed: Error: the database is away",
    );
  });

  it("A certificate that cannot be read or used is reported", async () => {
    const missing = join(folder, "none.pem");
    expect(await failure({ options: { tls: { cert: missing, key } } })).toBe(
      `stoa: cannot read the TLS certificate ${missing}: there is no such file`,
    );
    expect(await failure({ options: { tls: { cert: certificate, key: otherKey } }, args: ["--workers", "2"] })).toBe(
      "stoa: the TLS key does not belong to the certificate",
    );
    const garbage = join(folder, "garbage.pem");
    writeFileSync(garbage, "no certificate");
    expect(await failure({ options: { tls: { cert: garbage, key } } })).toContain("cannot be used");
  });
});

describe("a server inside a process of the caller", () => {
  it("run() with exit: false rejects in place of exiting, and leaves signals alone", async () => {
    const port = await occupiedPort();
    const listeners = process.listenerCount("SIGTERM");
    await expect(
      run(
        createTarget(() => {}),
        { port, exit: false },
      ),
    ).rejects.toThrow(`port ${port} on 127.0.0.1 is already`);
    await expect(
      run(
        createTarget(() => {}),
        { port: -1, exit: false },
      ),
    ).rejects.toThrow("option 'port' in run()");
    expect(process.listenerCount("SIGTERM")).toBe(listeners);
  });

  it("A server of run() with exit: false responds until it is closed", async () => {
    const server = await run(
      createTarget(() => {}),
      { port: 0, exit: false },
    );
    expect(await get(server.url)).toMatchObject({ text: "hello" });
    await server.close();
    await expect(get(server.url)).rejects.toThrow("ECONNREFUSED");
  });
});
