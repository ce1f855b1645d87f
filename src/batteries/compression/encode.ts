import type { BrotliOptions, ZlibOptions } from "node:zlib";
import type { ContentCoding } from "../../http/fields/accept-encoding.js";
import { nodeZlib } from "../../kit/node-modules.js";
import { EncodedStream, type Encoder } from "./encoded-stream.js";

export interface Levels {
  readonly gzip: number;
  readonly brotli: number;
}

/**
 * Up to this size a body is compressed at once: measured, handing 1 to 10 KiB to the thread pool costs two to eight times
 * the CPU of doing it here, and 32 KiB hold the event loop up for less than half a millisecond.
 */
const maxSync = 32 * 1024;

/** Up to this size a window of 4 KiB holds everything; one of 32 KiB takes longer to clear than the body to compress. */
const maxSmall = 4 * 1024 - 262;

/** Compresses a whole body. */
export function encodeBody(
  body: string | Uint8Array,
  size: number,
  coding: ContentCoding,
  levels: Levels,
): Buffer | Promise<Buffer> {
  const { brotliCompress, brotliCompressSync, gzip, gzipSync } = nodeZlib();
  if (coding === "br") {
    const options = brotliOptions(levels.brotli, size);
    return size <= maxSync ? brotliCompressSync(body, options) : later((done) => brotliCompress(body, options, done));
  }
  const options = gzipOptions(levels.gzip, size);
  return size <= maxSync ? gzipSync(body, options) : later((done) => gzip(body, options, done));
}

/** Compresses a body as it is made; `live` sends every piece at once, at the price of a few bytes each. */
export function encodeStream(
  body: AsyncIterable<Uint8Array | string>,
  coding: ContentCoding,
  levels: Levels,
  live: boolean,
): EncodedStream {
  const { constants, createBrotliCompress, createGzip } = nodeZlib();
  const open = (): Encoder =>
    coding === "br"
      ? createBrotliCompress(brotliOptions(levels.brotli, 0))
      : createGzip(gzipOptions(levels.gzip, maxSync));
  const flush = coding === "br" ? constants.BROTLI_OPERATION_FLUSH : constants.Z_SYNC_FLUSH;
  return new EncodedStream(body, open, live ? flush : null);
}

function gzipOptions(level: number, size: number): ZlibOptions {
  return size <= maxSmall ? { level, windowBits: 12, memLevel: 6 } : { level };
}

function brotliOptions(quality: number, size: number): BrotliOptions {
  const { constants } = nodeZlib();
  return { params: { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: size } };
}

function later(start: (done: (error: Error | null, result: Buffer) => void) => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    start((error, result) => (error ? reject(error) : resolve(result)));
  });
}
