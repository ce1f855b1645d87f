import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { until } from "./store.js";

const run = promisify(execFile);
const program = process.env["STOA_TEST_REDIS_PROGRAM"] ?? "/usr/bin/redis-server";

/** A server that a test may stop, pause and kill. */
export interface RedisServer {
  readonly port: number;
  readonly pid: number;
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a server of the test's own on a port. The program is installed with the service "redis". */
export async function startServer(
  port: number,
  folder: string,
  settings: readonly string[] = [],
  whole?: readonly string[],
): Promise<RedisServer> {
  const plain = settings.includes("--tls-port") ? ["--port", "0"] : ["--port", String(port)];
  const args = whole ?? [
    ...plain,
    "--bind",
    "127.0.0.1",
    "--dir",
    folder,
    "--save",
    "",
    "--appendonly",
    "no",
    ...settings,
  ];
  const child: ChildProcess = spawn(program, args, { stdio: "ignore" });
  let ended = false;
  child.once("exit", () => {
    ended = true;
  });
  await until(() => ended || accepts(port));
  if (ended) throw new Error(`${program} did not start: ${args.join(" ")}`);
  return {
    port,
    pid: child.pid!,
    async kill(signal = "SIGKILL") {
      if (ended) return;
      const exit = once(child, "exit");
      child.kill(signal);
      if (signal === "SIGKILL" || signal === "SIGTERM") await exit;
    },
  };
}

export async function temporaryFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "stoa-kv-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** A server of the current test alone, which may kill it. */
export async function serverOfTest(): Promise<RedisServer & { readonly url: string }> {
  const folder = await temporaryFolder();
  const port = await freePort();
  const server = await startServer(port, folder.path);
  onTestFinished(async () => {
    await server.kill();
    await folder.remove();
  });
  return { ...server, url: `redis://127.0.0.1:${port}` };
}

export interface RedisCluster {
  readonly servers: readonly RedisServer[];
  readonly url: string;
  stop(): Promise<void>;
}

/** Three masters and three replicas. */
export async function startCluster(): Promise<RedisCluster> {
  const folder = await temporaryFolder();
  const servers: RedisServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.kill()));
    await folder.remove();
  };
  try {
    for (let i = 0; i < 6; i++) {
      const port = await freePort();
      const own = join(folder.path, String(port));
      await mkdir(own);
      const settings = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"];
      servers.push(await startServer(port, own, [...settings, "--cluster-node-timeout", "2000"]));
    }
    const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
    await run("redis-cli", ["--cluster", "create", ...addresses, "--cluster-replicas", "1", "--cluster-yes"]);
    await untilSettled(servers);
  } catch (error) {
    await stop();
    throw error;
  }
  return { servers, url: `redis://127.0.0.1:${servers[0]!.port}`, stop };
}

/** Waits until all servers of a cluster agree, and its three replicas can take over: those that lag behind cannot. */
export async function untilSettled(servers: readonly RedisServer[]): Promise<void> {
  for (const { port } of servers) {
    await until(async () => (await cli(port, "cluster", "info")).includes("cluster_state:ok"));
  }
  await until(async () => {
    const infos = await Promise.all(servers.map(({ port }) => cli(port, "info", "replication")));
    return infos.filter((info) => info.includes("master_link_status:up")).length === 3;
  });
}

export async function cli(port: number, ...args: string[]): Promise<string> {
  const { stdout } = await run("redis-cli", ["-p", String(port), ...args]);
  return stdout;
}

/** An authority and a certificate for the name localhost. */
export async function certificates(folder: string): Promise<{ ca: string; cert: string; key: string }> {
  const file = (name: string): string => join(folder, name);
  const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await run("openssl", [
    "req",
    "-x509",
    ...fresh,
    "-days",
    "30",
    "-keyout",
    file("ca.key"),
    "-out",
    file("ca.crt"),
    "-subj",
    "/CN=Test CA",
  ]);
  await run("openssl", [
    "req",
    ...fresh,
    "-keyout",
    file("server.key"),
    "-out",
    file("server.csr"),
    "-subj",
    "/CN=localhost",
  ]);
  await writeFile(file("names"), "subjectAltName=DNS:localhost\n");
  const signing = ["-CA", file("ca.crt"), "-CAkey", file("ca.key"), "-CAcreateserial", "-days", "30"];
  await run("openssl", [
    "x509",
    "-req",
    "-in",
    file("server.csr"),
    ...signing,
    "-extfile",
    file("names"),
    "-out",
    file("server.crt"),
  ]);
  return { ca: file("ca.crt"), cert: file("server.crt"), key: file("server.key") };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
