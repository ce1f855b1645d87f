import type { IncomingMessage } from "node:http";
import type { ErrorCode } from "../../errors/table.js";
import { originForm } from "../authority.js";

export interface HeadLimits {
  readonly maxHeaders: number;
  readonly maxTargetSize: number;
}

const host = /^(?:\[[0-9a-f:.]+\]|[0-9a-z\-._~%!$&'()*+,;=]+)(?::\d{0,5})?$/i;
const visible = /^[\x21\x22\x24-\x7e]+$/;
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The request target in origin form, or the error of a request that node:http accepts and we refuse. */
export function checkRequest(message: IncomingMessage, limits: HeadLimits): { target: string } | ErrorCode {
  const url = message.url ?? "";
  if (url.length > limits.maxTargetSize) return "URI_TOO_LONG";
  if (message.httpVersion !== "1.1" && message.httpVersion !== "1.0") return "HTTP_VERSION_NOT_SUPPORTED";
  if (message.rawHeaders.length / 2 > limits.maxHeaders) return "HEADERS_TOO_LARGE";
  if (!visible.test(url)) return "MALFORMED_REQUEST";
  const old = message.httpVersion === "1.0";
  if (!hasSoundFraming(message.rawHeaders, old)) return "MALFORMED_REQUEST";
  const hosts = valuesOf(message.rawHeaders, "host");
  if (hosts.length > 1 || (hosts.length === 0 && !old)) return "MALFORMED_REQUEST";
  if (hosts.length === 1 && !host.test(hosts[0]!)) return "MALFORMED_REQUEST";
  if (url.startsWith("/")) return { target: url };
  if (url === "*") return message.method === "OPTIONS" ? { target: url } : "MALFORMED_REQUEST";
  const target = originForm(url, hosts[0]);
  return target === null ? "MALFORMED_REQUEST" : { target };
}

function hasSoundFraming(lines: readonly string[], old: boolean): boolean {
  for (let i = 1; i < lines.length; i += 2) if (!fieldValue.test(lines[i]!)) return false;
  const lengths = valuesOf(lines, "content-length");
  const codings = valuesOf(lines, "transfer-encoding");
  if (lengths.length + codings.length > 1) return false;
  if (lengths.length === 1 && !/^\d{1,15}$/.test(lengths[0]!)) return false;
  return codings.length === 0 || (!old && codings[0]!.toLowerCase() === "chunked");
}

function valuesOf(lines: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < lines.length; i += 2) if (lines[i]!.toLowerCase() === name) values.push(lines[i + 1]!);
  return values;
}
