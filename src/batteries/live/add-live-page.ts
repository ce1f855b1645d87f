import { consolePaths, consoleSection } from "../../console/add-section.js";
import { livePanels } from "../../console/panels.js";
import type { Host } from "../../feature/host.js";
import { Response } from "../../http/response.js";
import { currentHealth } from "../health/feature.js";
import { LiveServer } from "./live-server.js";
import type { LivePageSettings } from "./options.js";
import { overview } from "./overview.js";
import { listRoutes } from "./route-list.js";

/** Adds the page and its stream of events. Only developers need it, so it is loaded on demand. */
export function addLivePage(host: Host, { path, hosts, requests }: LivePageSettings): LiveServer {
  const live = new LiveServer({
    requests,
    routes: () => listRoutes(host.routes, host.scope),
    health: () => currentHealth(host),
    panels: () => livePanels(host).read(),
    skipped: consolePaths(host),
    serving: () => host.phase === "started",
  });
  host.use(live.middleware);
  const events = (): Response => Response.sse((signal) => live.events(signal), { retry: "1s" });
  consoleSection(host, { title: "Live", path, hosts, overview, calls: { events } });
  return live;
}
