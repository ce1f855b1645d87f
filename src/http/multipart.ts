export interface MultipartLimits {
  maxParts?: number;
}
export interface Part {
  name: string;
}
export async function* readParts(
  _contentType: string | undefined,
  _body: AsyncIterable<Uint8Array>,
  _limits?: MultipartLimits,
): AsyncIterableIterator<Part> {}
