import { consoleSection } from "../../console/add-section.js";
import type { AdminSettings } from "../../console/options.js";
import { type LivePanel, type LiveTone, livePanels } from "../../console/panels.js";
import type { Host } from "../../feature/host.js";
import { nodeOs } from "../../kit/node-modules.js";
import { ValueError } from "../../kit/value-error.js";
import { parentLink } from "../../server/process/parent-link.js";
import type { HealthStatus } from "./check.js";
import type { HealthReport } from "./report.js";

const tones: Readonly<Record<HealthStatus, LiveTone>> = { UP: "good", DEGRADED: "warning", DOWN: "bad" };

/** Adds the section of the machine to the console: its checks, what its features show, and a button that drains it. */
export function addMachinePage(host: Host, options: AdminSettings, report: () => Promise<HealthReport>): void {
  consoleSection(host, {
    title: "Machine",
    enabledBy: "enableHealthChecks({ admin: ... })",
    ...options,
    async view() {
      const [health, panels] = await Promise.all([report(), livePanels(host).read()]);
      return { panels: [machinePanel(host, health), ...panels] };
    },
    actions: { drain: async (name) => drain(host, name) },
  });
}

function machinePanel(host: Host, { status, checks, uptime_seconds, version, transport }: HealthReport): LivePanel {
  const name = machineName();
  const rows = Object.entries(checks).map(([check, { status: found, message = "", duration_ms }]) => [
    check,
    { text: found, tone: tones[found], badge: true },
    { ms: duration_ms },
    message,
  ]);
  return {
    title: name,
    badge: { text: status, tone: tones[status] },
    facts: [
      { label: "Version", value: version ?? "not set" },
      { label: "Workers", value: host.settings.workers },
      { label: "Process", value: process.pid },
      { label: "Runs for", value: { ms: uptime_seconds * 1000 } },
      ...(transport === undefined ? [] : [{ label: "Transport", value: transport }]),
    ],
    tables: [{ columns: ["Check", "Status", "Took", ""], rows, empty: "There are no checks." }],
    actions: { id: name, names: ["drain"] },
  };
}

/** Ends all processes of this machine as SIGTERM does: readiness fails for `drainDelay`, then they drain. */
function drain(host: Host, name: string): void {
  // With several machines behind one address the button may reach another one than the page came from.
  if (name !== machineName())
    throw new ValueError(`the request reached ${machineName()}: ask for ${name} by its address`);
  // A second signal would end it at once.
  if (host.phase !== "started") throw new ValueError(`${name} drains already`);
  if (parentLink === null && process.listenerCount("SIGTERM") === 0) {
    throw new ValueError("this process is not ended by SIGTERM: app.run() did not start it");
  }
  process.kill(parentLink?.parent ?? process.pid, "SIGTERM");
}

function machineName(): string {
  return nodeOs().hostname();
}
