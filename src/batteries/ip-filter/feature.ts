import type { FeatureMethods } from "../../feature/feature.js";
import { type IpFilterOptions, ipFilter } from "./ip-filter.js";

export interface IpFilterFeature {
  /** Refuses clients by their address with 403, before anything costs more. */
  enableIpFilter(options: IpFilterOptions): this;
}

export const ipFilterFeature: FeatureMethods<IpFilterFeature> = {
  enableIpFilter(options) {
    this.addFeature({ ...ipFilter(options), slot: "ip-filter" });
    return this;
  },
};
