import { feature } from "../../feature/feature.js";
import { type IpFilterOptions, ipFilter as ipFilterMiddleware } from "./ip-filter.js";

export interface IpFilterFeature {
  /** Refuses clients by their address with 403, before any other work. */
  enableIpFilter(options: IpFilterOptions): this;
}

export const ipFilter = feature<IpFilterFeature>({
  name: "IP filter",
  setup: { enableIpFilter: (_host, options) => ({ ...ipFilterMiddleware(options), slot: "ip-filter" }) },
});
