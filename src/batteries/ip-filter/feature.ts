import { feature } from "../../feature/feature.js";
import { type IpFilterOptions, ipFilter } from "./ip-filter.js";

export interface IpFilterFeature {
  /** Refuses clients by their address with 403, before any other work. */
  enableIpFilter(options: IpFilterOptions): this;
}

export const ipFilterFeature = feature<IpFilterFeature>({
  name: "IP filter",
  setup: { enableIpFilter: (_host, options) => ipFilter(options) },
});
