import { consoleSection } from "../../console/add-section.js";
import type { AdminSettings } from "../../console/options.js";
import { type LiveCell, type LivePanel, type LiveTone, livePanels } from "../../console/panels.js";
import { describeError } from "../../errors/describe.js";
import type { Host } from "../../feature/host.js";
import { ValueError } from "../../kit/value-error.js";
import { parentLink } from "../../server/process/parent-link.js";
import type { HealthStatus } from "./check.js";
import type { Machines } from "./machines.js";
import type { HealthReport } from "./report.js";

const tones: Readonly<Record<HealthStatus, LiveTone>> = { UP: "good", DEGRADED: "warning", DOWN: "bad" };

/** Adds the section of the machines to the console: their list, the checks of this one, and what its features show. */
export function addMachinePage(
  host: Host,
  options: AdminSettings,
  machines: Machines,
  report: () => Promise<HealthReport>,
): void {
  consoleSection(host, {
    title: "Machine",
    enabledBy: "enableHealthChecks({ admin: ... })",
    ...options,
    async view() {
      const [listed, health, panels] = await Promise.all([listPanel(machines), report(), livePanels(host).read()]);
      return { panels: [machinePanel(host, machines.self, health), listed, ...panels] };
    },
    actions: { drain: (id) => machines.drain(id) },
  });
}

/** The list is missing while its store cannot be reached. The checks of this machine are shown without it. */
async function listPanel(machines: Machines): Promise<LivePanel> {
  const title = "Machines";
  try {
    const rows = (await machines.list()).map(({ id, version, since, processes }): LiveCell[] => [
      id === machines.self ? { text: `${id} (this one)`, tone: "info" } : id,
      version,
      processes.join(", "),
      { at: new Date(since) },
      { id, actions: ["drain"] },
    ]);
    const columns = ["Machine", "Version", "Processes", "Serves since", ""];
    return { title, tables: [{ columns, rows, empty: "There are none." }] };
  } catch (error) {
    return { title, error: describeError(error).message };
  }
}

function machinePanel(
  host: Host,
  id: string,
  { status, checks, uptime_seconds, version, transport }: HealthReport,
): LivePanel {
  const rows = Object.entries(checks).map(([check, { status: found, message = "", duration_ms }]) => [
    check,
    { text: found, tone: tones[found], badge: true },
    { ms: duration_ms },
    message,
  ]);
  return {
    title: id,
    badge: { text: status, tone: tones[status] },
    facts: [
      { label: "Version", value: version ?? "not set" },
      { label: "Workers", value: host.settings.workers },
      { label: "Process", value: process.pid },
      { label: "Runs for", value: { ms: uptime_seconds * 1000 } },
      ...(transport === undefined ? [] : [{ label: "Transport", value: transport }]),
    ],
    tables: [{ columns: ["Check", "Status", "Took", ""], rows, empty: "There are no checks." }],
    actions: { id, names: ["drain"] },
  };
}

/** Ends all processes of this machine as SIGTERM does: readiness fails for `drainDelay`, then they drain. */
export function drainMachine(host: Host): void {
  // A second signal would end it at once.
  if (host.phase !== "started") throw new ValueError("the machine drains already");
  if (parentLink === null && process.listenerCount("SIGTERM") === 0) {
    throw new ValueError("this process is not ended by SIGTERM: app.run() did not start it");
  }
  process.kill(parentLink?.parent ?? process.pid, "SIGTERM");
}
