import { meterOf } from "../../batteries/metrics/feature.js";
import { startedRooms } from "../../batteries/rooms/feature.js";
import { MemorySessionStore } from "../../batteries/sessions/memory-store.js";
import type { Host } from "../../feature/host.js";
import { Bus } from "./bus.js";
import { Catalog, type DeclaredParts } from "./catalog.js";
import type { McpConfig } from "./config.js";
import { Methods } from "./methods.js";
import { McpMonitor } from "./monitor.js";
import { addOauth } from "./oauth.js";
import { McpServer } from "./server.js";
import { hash, McpSessions } from "./sessions.js";
import { Streams } from "./streams.js";

/** The endpoint of an application that has been started. */
export interface RunningMcp {
  /** Begins to hear other workers. */
  listen(): void;
  updated(uri: string): void;
  drain(): void;
}

/** The module that is loaded on demand. */
export async function startMcp(host: Host, config: McpConfig, declared: DeclaredParts): Promise<RunningMcp> {
  const { path, guards, middleware, sessionSecs, maxSessions } = config;
  const store = host.store("sessions", {
    holds: "sessions of MCP",
    local: () => new MemorySessionStore(maxSessions),
  });
  const bus = new Bus(await startedRooms(host));
  const sessions = new McpSessions(store, sessionSecs);
  const catalog = new Catalog(host, path, declared);
  const all = [catalog.tools, catalog.prompts, catalog.resources].flatMap((list) => [...list.values()]);
  const lists = hash(JSON.stringify(all.map(({ listed }) => listed)));
  const monitor = new McpMonitor(meterOf(host), () => host.tracer);
  const methods = new Methods({ host, config, catalog, sessions, bus, monitor, lists });
  const streams = new Streams(bus, sessions, lists, sessionSecs);
  const server = new McpServer({ host, config, methods, sessions, streams, bus });
  // The tools have their own time limits.
  const options = { guards, middleware, timeout: 0, cache: false, etag: false };
  host.route({ path, options, method: "POST", handler: (request) => server.post(request) });
  host.route({ path, options, method: "GET", handler: (request) => server.get(request) });
  host.route({ path, options, method: "DELETE", handler: (request) => server.delete(request) });
  host.link("MCP", path);
  if (config.oauth !== undefined) addOauth(host, path, config.oauth);
  return {
    listen: () => bus.listen((message) => server.hear(message)),
    updated: (uri) => bus.tell({ kind: "updated", uri }),
    drain() {
      streams.drain();
      bus.end();
    },
  };
}
