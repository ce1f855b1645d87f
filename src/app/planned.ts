import { feature } from "../feature/feature.js";

/*
 * The parts of the interface that are still to be built. Their names exist, so that a program that uses one learns the
 * truth in one sentence, and not that something is undefined.
 */

export interface PlannedFeatures {
  /** Not built yet: throws. */
  enableGrpc(...given: unknown[]): this;
  /** Not built yet: throws. */
  addGrpcService(...given: unknown[]): this;
}

const missing = (name: string) => (): never => {
  throw new Error(`${name} is not part of this version of stoa yet`);
};

export const plannedFeatures = feature<PlannedFeatures>({
  name: "planned features",
  setup: {
    enableGrpc: missing("enableGrpc()"),
    addGrpcService: missing("addGrpcService()"),
  },
});

class PlannedConfig {
  constructor(..._given: unknown[]) {
    missing(new.target.name)();
  }
}

/** Not built yet: throws. */
export class GrpcConfig extends PlannedConfig {}
