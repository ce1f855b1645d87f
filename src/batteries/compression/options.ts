import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is } from "../../kit/options.js";

export const compressionOptions = options(
  "enableCompression()",
  {
    /** Smallest body in bytes that is compressed. Default 1024. */
    minSize: option(is.integer(0), 1024),
    /** Offers brotli too, and prefers it among equals. Default false. */
    brotli: option(is.boolean, false),
    /** gzip's level, from 1 (fast) to 9 (small). Default 4. */
    level: option(is.integer(1, 9), 4),
    /** Brotli's quality, from 0 (fast) to 11 (small). Default 4. */
    brotliQuality: option(is.integer(0, 11), 4),
    /** Compresses responses with Set-Cookie too: see docs/compression.md on BREACH before you do. Default false. */
    withCookies: option(is.boolean, false),
    /**
     * Compresses streams of unknown length too, which have no Content-Length. Each piece is sent at once, and each open
     * stream holds a compressor of 256 KiB. Default false.
     */
    streams: option(is.boolean, false),
  },
  {
    order: ["minSize"],
    idle: ({ brotli }) => ({ brotliQuality: !brotli && "set brotli: true to offer brotli" }),
  },
);

export interface CompressionOptions extends OptionsOf<typeof compressionOptions.fields> {}
export type CompressionSettings = SettingsOf<typeof compressionOptions.fields>;
