import { spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { createServer } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { bodyOf } from "./body.mjs";
import { cores } from "./machine.mjs";
import { cpuSeconds, residentMemory } from "./processes.mjs";

const script = new URL("../serve.mjs", import.meta.url).pathname;
const live = new Set();

/**
 * Starts a contestant on the server's core and resolves after its first response, if that is correct. `startup` is the
 * time to that response in milliseconds.
 */
export async function startServer(contestant, workload) {
  const port = await freePort();
  const begin = performance.now();
  const { file, runtime = process.execPath, variant } = contestant;
  const own = [script, file, workload.key, port, ...(variant === undefined ? [] : [variant])];
  const child = spawn("taskset", ["-c", cores.server, runtime, ...own].map(String), {
    env: { ...process.env, NODE_ENV: "production", ...contestant.env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  live.add(child);
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (complaint += text));
  const ended = once(child, "exit").then(() => live.delete(child));
  try {
    const body = await firstAnswer(workload, port, child, () => complaint);
    const startup = performance.now() - begin;
    verify(body, workload);
    const stop = () => child.kill("SIGKILL") && ended;
    return { port, startup, stop, cpu: () => cpuSeconds(child.pid), memory: () => residentMemory(child.pid) };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

/** Ends every server that still runs. */
export function stopServers() {
  for (const child of live) child.kill("SIGKILL");
}

async function firstAnswer(workload, port, child, complaint) {
  const deadline = performance.now() + 20_000;
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode) throw new Error(`ended at start: ${complaint().trim()}`);
    const body = await ask(workload, port);
    if (body !== undefined) return body;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Error(`gave no answer within 20 s: ${complaint().trim()}`);
}

function ask(workload, port) {
  const { method, path } = workload;
  const body = bodyOf(workload);
  const typed = body && { "content-type": body.type, "content-length": Buffer.byteLength(body.text) };
  const headers = { ...workload.headers, ...typed };
  return new Promise((resolve) => {
    const outgoing = request({ host: "127.0.0.1", port, method, path, headers, agent: false }, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      resolve(response.statusCode === 200 ? text : `status ${response.statusCode}: ${text}`);
    });
    outgoing.on("error", () => resolve(undefined));
    outgoing.end(body?.text);
  });
}

/** The value is the text, the parsed JSON, or a function that checks the text. */
function verify(text, { value }) {
  const right =
    typeof value === "function"
      ? value(text)
      : typeof value === "string"
        ? text === value
        : isDeepStrictEqual(parse(text), value);
  if (!right) throw new Error(`wrong answer: ${text.slice(0, 300)}`);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
