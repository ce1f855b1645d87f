import { feature } from "../../feature/feature.js";
import { perHost } from "../../feature/host.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is } from "../../kit/options.js";
import { type CompressionOptions, type CompressionSettings, compressionOptions } from "./options.js";

export interface CompressionFeature {
  /** Compresses response bodies from `minSize` bytes on, 1024 by default, for clients that accept it. */
  enableCompression(minSizeOrOptions?: number | EitherSpelling<CompressionOptions>): this;
}

declare module "../../routing/options.js" {
  interface HttpRouteOptions {
    /** False leaves the body uncompressed. */
    readonly compression?: boolean;
  }
}

const stateOf = perHost((): { options: CompressionSettings | null } => ({ options: null }));

export const compressionFeature = feature<CompressionFeature>({
  name: "compression",
  setup: {
    enableCompression(host, ...given) {
      stateOf(host).options = compressionOptions.read(given);
    },
  },
  routeOptions: { compression: { check: is.boolean } },
  async prepare(host) {
    const { options } = stateOf(host);
    if (options === null) return;
    const { compression } = await import("./compression.js");
    host.use(compression(options));
  },
  review: (host) => compressionOptions.idle(stateOf(host).options),
});
