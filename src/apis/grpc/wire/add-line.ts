import type { OutgoingHttpHeaders } from "node:http2";

/** Adds a value to those of the name. */
export function addLine(headers: OutgoingHttpHeaders, name: string, value: string): void {
  const known = headers[name];
  headers[name] = known === undefined ? value : [...(Array.isArray(known) ? known : [String(known)]), value];
}
