import {
  constants,
  deflate,
  gunzip,
  gunzipSync,
  gzip,
  type InputType,
  inflate,
  inflateSync,
  type ZlibOptions,
} from "node:zlib";
import { GrpcError } from "../grpc-error.js";
import { tooLarge } from "./frames.js";

export type Encoding = "gzip" | "deflate";

/** The encodings that both ends may use, as the headers list them. */
export const acceptedEncodings = "identity,gzip,deflate";

/** Messages below this size are decompressed at once: the thread pool would take longer. */
const smallMessage = 4096;
/** Unless they become larger than this: a message of 4 KB may hold 4 MB, and would block all other calls during that time. */
const smallResult = 65_536;
/** Messages below this size are sent as they are. */
export const minimumToCompress = 1024;

/** The encoding of a header; null for none. Throws for one that is not known: INTERNAL is for that of a server. */
export function readEncoding(
  header: string | undefined,
  code: "UNIMPLEMENTED" | "INTERNAL" = "UNIMPLEMENTED",
): Encoding | null {
  if (header === undefined || header === "identity" || header === "") return null;
  if (header === "gzip" || header === "deflate") return header;
  throw new GrpcError(code, `the compression ${JSON.stringify(header.slice(0, 40))} is not supported`);
}

/** The first encoding of a list that can be used for responses. */
export function acceptedOf(header: string | undefined): Encoding | null {
  if (header === undefined) return null;
  for (const part of header.slice(0, 200).split(",")) {
    const name = part.trim();
    if (name === "gzip" || name === "deflate") return name;
  }
  return null;
}

/**
 * Decompresses a message. The output is bounded while it is made, so a small input cannot fill the memory. `malformed`
 * makes the error of a message that is not compressed as its header says.
 */
export function decompress(
  data: Uint8Array,
  encoding: Encoding,
  limit: number,
  malformed: (message: string, cause: unknown) => Error = internal,
): Uint8Array | Promise<Uint8Array> {
  if (data.length <= smallMessage) {
    const small: ZlibOptions = { maxOutputLength: Math.min(limit, smallResult) };
    try {
      return encoding === "gzip" ? gunzipSync(data, small) : inflateSync(data, small);
    } catch (error) {
      if (!isTooLarge(error) || limit <= smallResult) throw refusalOf(error, limit, malformed);
    }
  }
  const options: ZlibOptions = { maxOutputLength: limit };
  const run: Zlib = encoding === "gzip" ? gunzip : inflate;
  return new Promise((resolve, reject) => {
    run(data, options, (error, result) =>
      error === null ? resolve(result) : reject(refusalOf(error, limit, malformed)),
    );
  });
}

export function compress(data: Uint8Array, encoding: Encoding): Promise<Uint8Array> {
  const run: Zlib = encoding === "gzip" ? gzip : deflate;
  return new Promise((resolve, reject) => {
    run(data, { level: constants.Z_BEST_SPEED }, (error, result) => (error === null ? resolve(result) : reject(error)));
  });
}

type Zlib = (data: InputType, options: ZlibOptions, done: (error: Error | null, result: Buffer) => void) => void;

function refusalOf(error: unknown, limit: number, malformed: (message: string, cause: unknown) => Error): Error {
  return isTooLarge(error) ? tooLarge(null, limit) : malformed("a compressed message cannot be decompressed", error);
}

function internal(message: string, cause: unknown): GrpcError {
  return new GrpcError("INTERNAL", message, { cause });
}

function isTooLarge(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
}
