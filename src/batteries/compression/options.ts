import { type Checks, is, readCall } from "../../internal/options.js";

export interface CompressionOptions {
  /** Smallest body in bytes that is compressed. Default 1024. */
  readonly minSize?: number;
  /** Offers brotli too, and prefers it among equals. Default false. */
  readonly brotli?: boolean;
  /** gzip's level, from 1 (fast) to 9 (small). Default 4. */
  readonly level?: number;
  /** Brotli's quality, from 0 (fast) to 11 (small). Default 4. */
  readonly brotliQuality?: number;
  /** Compresses responses with Set-Cookie too: see docs/compression.md on BREACH before you do. Default false. */
  readonly withCookies?: boolean;
  /**
   * Compresses streams of unknown length too, which have no Content-Length. Each piece is sent at once, and each open
   * stream holds a compressor of 256 KiB. Default false.
   */
  readonly streams?: boolean;
}

const checks: Checks<CompressionOptions> = {
  minSize: is.integer(0),
  brotli: is.boolean,
  level: is.integer(1, 9),
  brotliQuality: is.integer(0, 11),
  withCookies: is.boolean,
  streams: is.boolean,
};

/** Reads the arguments of `enableCompression`. */
export function readCompressionOptions(args: readonly unknown[]): Required<CompressionOptions> {
  const given = readCall<CompressionOptions>("enableCompression()", args, ["minSize"], checks);
  return { minSize: 1024, brotli: false, level: 4, brotliQuality: 4, withCookies: false, streams: false, ...given };
}
