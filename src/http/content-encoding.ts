import { Readable } from "node:stream";
import type { BrotliDecompress, Gunzip, Inflate } from "node:zlib";
import { httpError } from "../errors/http-error.js";
import { nodeZlib } from "../internal/node-modules.js";
import { type Checks, is, isPlainObject, readOptions } from "../internal/options.js";
import type { RequestSource } from "./source.js";

/** A coding of a request body that can be decoded. */
export type BodyCoding = "gzip" | "deflate" | "br";

export interface DecompressOptions {
  /** The accepted codings. Default all: `["gzip", "deflate", "br"]`. */
  readonly encodings?: readonly BodyCoding[];
  /** The largest allowed ratio of decoded to encoded bytes, beyond the first 64 KiB. Default 100. */
  readonly maxRatio?: number;
}

export type DecompressRules = Required<DecompressOptions>;

const codings: readonly BodyCoding[] = ["gzip", "deflate", "br"];
/** Decoded bytes that are allowed whatever their ratio. */
const freeBytes = 64 * 1024;
/** Bodies that are decoded into memory at once. The others wait with their encoded bytes, which are few. */
const maxAtOnce = 4;

const checks: Checks<DecompressOptions> = {
  encodings: is.list(is.oneOf(...codings)),
  maxRatio: is.number(1),
};

/** The check of the route option `decompress`. */
export function isDecompressOption(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (!isPlainObject(value)) return "true, false or an object with encodings and maxRatio";
  readOptions<DecompressOptions>("decompress", value, checks);
  return undefined;
}

/** The rules of a route option `decompress`; null for a route that decodes nothing. */
export function decompressRules(given: boolean | DecompressOptions | undefined): DecompressRules | null {
  if (given === undefined || given === false) return null;
  const options = given === true ? {} : readOptions<DecompressOptions>("decompress", given, checks);
  return { encodings: codings, maxRatio: 100, ...options };
}

/**
 * The coding of a body, or null if it has none. Throws 415 for a coding that is not accepted, and for several: nobody
 * needs them, and each multiplies the size of a bomb.
 */
export function bodyCoding(source: RequestSource, rules: DecompressRules | null): BodyCoding | null {
  const header = source.header("content-encoding");
  if (header === undefined) return null;
  const name = header.trim().toLowerCase();
  if (name === "identity" || name === "") return null;
  const coding = (name === "x-gzip" ? "gzip" : name) as BodyCoding;
  if (rules?.encodings.includes(coding)) return coding;
  // RFC 9110 section 12.5.3: the codings that would have been accepted.
  const headers = { "Accept-Encoding": rules?.encodings.join(", ") || "identity" };
  throw httpError("UNSUPPORTED_MEDIA_TYPE", "The Content-Encoding of the body is not supported here.", { headers });
}

let running = 0;
const waiting: (() => void)[] = [];

/** The decoded bytes of a whole body; rejects with 413 beyond the limits, with 400 if the bytes are not valid. */
export async function decodeBody(
  bytes: Uint8Array,
  coding: BodyCoding,
  rules: DecompressRules,
  limit: number,
): Promise<Uint8Array> {
  if (running >= maxAtOnce) await new Promise<void>((resolve) => waiting.push(resolve));
  running++;
  try {
    const pieces: Uint8Array[] = [];
    for await (const piece of decodeStream([bytes], coding, rules, limit)) pieces.push(piece);
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  } finally {
    running--;
    waiting.shift()?.();
  }
}

/** The decoded bytes of a body as they arrive. Throws as `decodeBody` rejects. */
export async function* decodeStream(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  coding: BodyCoding,
  { maxRatio }: DecompressRules,
  limit: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const engine = engineFor(coding);
  let encoded = 0;
  let decoded = 0;
  let failure: unknown;
  const input = Readable.from(counted(source, (size) => (encoded += size)));
  input.on("error", (error) => {
    failure = error;
    engine.destroy(error);
  });
  input.pipe(engine);
  try {
    for await (const piece of engine as AsyncIterable<Buffer>) {
      decoded += piece.length;
      if (decoded > limit || decoded > Math.max(freeBytes, encoded * maxRatio)) throw httpError("PAYLOAD_TOO_LARGE");
      yield piece;
    }
    // Bytes behind the end would be read by another program, and not by this one.
    if (engine.bytesWritten !== encoded) throw malformed();
  } catch (error) {
    if (failure !== undefined) throw failure;
    throw isZlibError(error) ? malformed() : error;
  } finally {
    input.destroy();
    engine.destroy();
  }
}

function engineFor(coding: BodyCoding): Gunzip | Inflate | BrotliDecompress {
  const zlib = nodeZlib();
  if (coding === "gzip") return zlib.createGunzip();
  return coding === "deflate" ? zlib.createInflate() : zlib.createBrotliDecompress();
}

async function* counted(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  count: (size: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of source) {
    count(piece.length);
    yield piece;
  }
}

function isZlibError(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? "";
  return code.startsWith("Z_") || code.startsWith("ERR_");
}

function malformed(): Error {
  return httpError("BAD_REQUEST", "The body does not fit its Content-Encoding.");
}
