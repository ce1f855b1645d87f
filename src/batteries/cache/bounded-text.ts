import { nodeCrypto } from "../../kit/node-modules.js";

const maxLength = 256;

/** A key or tag of bounded length: a long one is hashed, so that memory does not grow with the length of addresses. */
export function boundedText(text: string): string {
  if (text.length <= maxLength) return text;
  return `#${nodeCrypto().createHash("sha256").update(text, "utf16le").digest("base64")}`;
}
