import type { FeatureMethods } from "../../feature/feature.js";
import { type Proxies, TrustedProxies, type TrustProxyOptions } from "../../http/proxies.js";

export interface TrustProxyFeature {
  /** Believes what these proxies say of the client: `request.ip` and `request.url` are then the client's. */
  trustProxy(proxies: Proxies | TrustProxyOptions): this;
}

export const trustProxyFeature: FeatureMethods<TrustProxyFeature> = {
  trustProxy(proxies) {
    this.assertOpen("trustProxy()");
    const trusted = new TrustedProxies(proxies);
    this.addressOf = (request) => trusted.address(request.source);
    this.originOf = (request) => trusted.origin(request.source);
    return this;
  },
};
