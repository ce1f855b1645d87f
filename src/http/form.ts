import type { MultipartLimits } from "./multipart.js";
export class Form {}
export function parseForm(_contentType: string | undefined, _bytes: Uint8Array, _limits?: MultipartLimits): Form {
  return new Form();
}
