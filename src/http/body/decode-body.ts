import { Readable } from "node:stream";
import type { BrotliDecompress, Gunzip, Inflate } from "node:zlib";
import { httpError } from "../../errors/http-error.js";
import { nodeZlib } from "../../kit/node-modules.js";
import type { BodyCoding, DecompressRules } from "./content-encoding.js";

/** Decoded bytes that are allowed whatever their ratio. */
const freeBytes = 64 * 1024;
/** Bodies that are decoded into memory at once. The others wait with their encoded bytes, which are few. */
const maxAtOnce = 4;

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
  else running++;
  try {
    const pieces: Uint8Array[] = [];
    for await (const piece of decodeStream([bytes], coding, rules, limit)) pieces.push(piece);
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  } finally {
    // The next one takes this place. Otherwise one that comes before it runs would be one too many.
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
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
