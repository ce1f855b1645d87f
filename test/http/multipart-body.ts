/** One part of a multipart body as text or bytes: its header lines, and its content. */
export interface RawPart {
  readonly head: readonly string[];
  readonly content: string | Uint8Array;
}

export const boundary = "----boundary";
export const contentType = `multipart/form-data; boundary=${boundary}`;

export function fieldPart(name: string, content: string): RawPart {
  return { head: [`Content-Disposition: form-data; name="${name}"`], content };
}

export function filePart(name: string, filename: string, content: string | Uint8Array, type?: string): RawPart {
  const head = [`Content-Disposition: form-data; name="${name}"; filename="${filename}"`];
  return { head: type === undefined ? head : [...head, `Content-Type: ${type}`], content };
}

export function multipartBody(...parts: RawPart[]): Buffer {
  const pieces = parts.flatMap(({ head, content }) => [
    Buffer.from(`--${boundary}\r\n${head.map((line) => `${line}\r\n`).join("")}\r\n`),
    Buffer.from(content as string),
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

/** The bytes cut at the given places. */
export function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ordered = [...new Set(places)].map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
  const ends = [...ordered, bytes.length];
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

export async function* stream(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
