import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aptInstall } from "./apt.mjs";
import { startChild } from "./child.mjs";
import { accepts } from "./ports.mjs";

const program = "/usr/sbin/haproxy";

/**
 * HAProxy in front of the servers of a list of ports, in turn. A server gets requests while its readiness responds with
 * 200; it is asked twice a second. A connection that could not be made is tried on another server, a request is not sent
 * twice. With `grpc` it has a second port, for HTTP/2 without TLS: `{ port, servers }`.
 */
export async function startHaproxy({
  folder,
  port,
  servers,
  grpc = /** @type {{ port: number, servers: number[] } | null} */ (null),
  log = () => {},
}) {
  if (!existsSync(program)) await aptInstall(["haproxy"], log);
  const file = join(folder, "haproxy.cfg");
  await writeFile(
    file,
    `global
  maxconn 2000
defaults
  mode http
  timeout connect 1s
  timeout check 2s
  timeout client 75s
  timeout server 40s
  timeout tunnel 1h
  option redispatch 1
  retries 3
frontend all
  bind 127.0.0.1:${port}
  default_backend machines
backend machines
  balance roundrobin
  option httpchk GET /health/ready
  default-server inter 500ms fall 2 rise 1
${servers.map((server, index) => `  server m${index + 1} 127.0.0.1:${server} check\n`).join("")}${grpc === null ? "" : http2(grpc)}`,
  );
  const { stop } = await startChild(program, ["-db", "-f", file], { ready: () => accepts(port), patience: 120_000 });
  return { value: `http://127.0.0.1:${port}`, stop };
}

/** The readiness is that of the other port. */
function http2(grpc) {
  const lines = grpc.servers.map(
    (server, index) => `  server m${index + 1} 127.0.0.1:${server} proto h2 track machines/m${index + 1}\n`,
  );
  return `frontend grpc
  bind 127.0.0.1:${grpc.port} proto h2
  default_backend grpc-machines
backend grpc-machines
  balance roundrobin
${lines.join("")}`;
}
