import { feature } from "../../feature/feature.js";
import { perHost } from "../../feature/host.js";
import { type HostCheck, orPrivate, readHosts, trustedHosts } from "./trusted-hosts.js";

export interface TrustedHostsFeature {
  /**
   * Serves requests to these hosts only; all others get 421. A host is a name (`"example.com"`), all names below one
   * (`"*.example.com"`), an address, a range (`"10.0.0.0/8"`, `"private"`), or `"*"` for every host.
   *
   * In development, `localhost`, addresses, names of one label, and names below `.test` and `.internal` are served too;
   * a server started by `run` then refuses all other names even if this is not called. In production nothing is refused
   * unless this is called.
   */
  trustedHosts(hosts: string | readonly string[]): this;
}

const stateOf = perHost((): { configured: HostCheck | null } => ({ configured: null }));

export const trustedHostsFeature = feature<TrustedHostsFeature>({
  name: "trusted hosts",
  setup: {
    trustedHosts(host, hosts) {
      stateOf(host).configured = readHosts(hosts);
    },
  },
  prepare(host) {
    const { configured } = stateOf(host);
    const { env, host: bound } = host.settings;
    if (env === "production") {
      if (configured !== null) host.use(trustedHosts(configured, ""));
      return;
    }
    // Under `fetch` and in tests, the caller chooses the host.
    if (configured === null && bound === undefined) return;
    host.use(trustedHosts(orPrivate(configured, bound), " In development, app.trustedHosts([...]) allows it."));
  },
});
