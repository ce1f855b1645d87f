import { type FeatureMethods, slot } from "../../feature/feature.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type CompressionOptions, readCompressionOptions } from "./options.js";

export interface CompressionFeature {
  /** Compresses bodies from `minSize` bytes on, 1024 unless given, for clients that take them so. */
  enableCompression(...given: [options?: EitherSpelling<CompressionOptions>] | [minSize: number]): this;
}

export const compressionFeature: FeatureMethods<CompressionFeature> = {
  enableCompression(...given) {
    this.assertOpen("enableCompression()");
    const options = readCompressionOptions(given);
    const enabled = slot(this, compressionFeature, () => {
      this.onPrepare(async () => {
        const { compression } = await import("../../app/features/enabled.js");
        this.addFeature(compression(enabled.options));
      });
      return { options };
    });
    enabled.options = options;
    return this;
  },
};
