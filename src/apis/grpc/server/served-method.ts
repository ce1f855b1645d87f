import type { HostPipeline } from "../../../feature/host.js";
import type { BoundMethod } from "../bound-method.js";

/** A method together with the pipeline of its calls. */
export interface ServedMethod {
  readonly method: BoundMethod;
  readonly pipeline: HostPipeline;
}

/** All methods by their paths, and the one that refuses all other paths. */
export interface ServedMethods {
  readonly byPath: ReadonlyMap<string, ServedMethod>;
  readonly unknown: ServedMethod;
}
