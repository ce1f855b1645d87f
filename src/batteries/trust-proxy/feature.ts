import { feature } from "../../feature/feature.js";
import { type Proxies, TrustedProxies, type TrustProxyOptions } from "../../http/peer/proxies.js";

export interface TrustProxyFeature {
  /** Trusts these proxies: `request.ip` and `request.url` are then those of the client behind them. */
  trustProxy(proxies: Proxies | TrustProxyOptions): this;
}

export const trustProxyFeature = feature<TrustProxyFeature>({
  name: "trusted proxies",
  setup: {
    trustProxy(host, proxies) {
      const trusted = new TrustedProxies(proxies);
      host.addressOf = (request) => trusted.address(request.source);
      host.originOf = (request) => trusted.origin(request.source);
    },
  },
});
