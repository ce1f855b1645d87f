import { feature } from "../../feature/feature.js";
import { perHost } from "../../feature/host.js";
import { parentLink } from "../../server/process/parent-link.js";
import type { SupervisorLink } from "../../server/worker-messages/link.js";

const linkOf = perHost((): { link: SupervisorLink | null } => ({ link: null }));

/**
 * State that is one for all workers of a machine, kept by their supervisor. It needs no call: a server with several workers
 * has it, for the features that are enabled and have no other store.
 */
export const supervisorStateFeature = feature<object>({
  name: "state of the machine",
  async prepare(host) {
    // Other applications of this process serve for themselves.
    if (host.settings.workers < 2 || parentLink?.role !== "worker") return;
    const [{ supervisorLink }, { extendStores }] = await Promise.all([
      import("../../server/worker-messages/link.js"),
      import("./extend-stores.js"),
    ]);
    const link = supervisorLink();
    if (link === null) return;
    extendStores(host, link, () => {
      linkOf(host).link = link;
    });
  },
  /** Before it serves, the worker has joined all that it uses: after that it misses no change. */
  async open(host) {
    await linkOf(host).link?.settled();
  },
  services: async () => (await import("./services.js")).supervisorServices(),
});
