import { show } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";

/** RFC 6455 section 7.4: the codes that may be sent. */
export function checkClose(code: number, reason: string): void {
  const registered = code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006;
  if (!Number.isInteger(code) || !(registered || (code >= 3000 && code <= 4999))) {
    throw new ValueError(`${show(code)} is not a code to close with; use 1000 to 1014 or 3000 to 4999`);
  }
  if (typeof reason !== "string" || Buffer.byteLength(reason) > 123) {
    throw new ValueError("the reason to close with must be a string of at most 123 bytes");
  }
}
