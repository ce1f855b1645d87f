import { ValueError } from "../../kit/value-error.js";

/** The address of a key set; null for the path of a file. Throws if the address is not safe. */
export function jwksAddress(given: string | URL): URL | null {
  const text = String(given);
  if (!/^https?:/i.test(text)) return null;
  if (!URL.canParse(text)) throw new ValueError(`option 'jwks' in JwtConfig is not a valid address: ${text}`);
  const url = new URL(text);
  const isLocal = /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  // Who can change the response on its way can sign tokens.
  if (url.protocol !== "https:" && !isLocal) {
    throw new ValueError("option 'jwks' in JwtConfig must be an https address, or http on this machine");
  }
  if (url.username || url.password) throw new ValueError("option 'jwks' in JwtConfig must not hold a password");
  return url;
}
