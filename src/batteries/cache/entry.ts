import { evaluateConditions } from "../../http/fields/conditional.js";
import { formatHttpDate, parseHttpDate } from "../../http/fields/http-date.js";
import { isSameName } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import { ownCopy, textSize } from "../../kit/own-copy.js";
import { boundedText } from "./bounded-text.js";
import { addressTag, originOf } from "./cache-key.js";
import { lifetimeOf } from "./lifetime.js";
import type { CachePlan } from "./options.js";
import { type CacheEntry, cacheTime } from "./store.js";

/** The value of X-Cache. REVALIDATED is a stored response that the handler has confirmed with a 304. */
export type CacheStatus = "HIT" | "MISS" | "STALE" | "REVALIDATED" | "BYPASS";

/** The entry of a response; null if the response must not be stored. */
export function entryOf(request: Request, response: Response, plan: CachePlan, key: string): CacheEntry | null {
  const { body } = response;
  if (response.upgrade !== null || !isWhole(body)) return null;
  const date = Date.now();
  const lifetime = lifetimeOf(response, plan, date);
  if (lifetime === null) return null;
  const fields = keptFields(response.fields);
  // RFC 9110 section 6.6.1: the time at which the response was made. With a new one on each hit, clients that compare
  // Expires with Date would count the age of the response twice.
  if (fieldIn(fields, "Date") === undefined) fields.push("Date", formatHttpDate(date));
  const address = addressTag(originOf(request), request.path);
  const tags = [...new Set([address, ...plan.tags, ...(response.tags ?? []).map(boundedText)])];
  const vary = varyingNames(response, plan).map((name) => [name, request.source.header(name) ?? null] as const);
  const type = response.type;
  const size = sizeOf({ key, body, type, fields, tags, vary });
  if (size > plan.maxEntrySize) return null;
  const madeAt = cacheTime();
  const { fresh, initialAgeMs, ...stale } = lifetime;
  return {
    status: response.status,
    type: type === null ? null : ownCopy(type),
    fields: fields.map(ownCopy),
    body: body instanceof Uint8Array ? new Uint8Array(body) : body === null ? null : keptText(body),
    tags: tags.map(ownCopy),
    vary: vary.map(([name, value]) => [name, value === null ? null : ownCopy(value)]),
    madeAt,
    initialAgeMs,
    date,
    freshUntil: madeAt - initialAgeMs + fresh,
    ...stale,
    size,
  };
}

/** The shortest text that is kept as bytes. */
const minBytes = 16_384;

/**
 * A text as an entry keeps it: a long one as bytes, unless they take more memory. The responses that send them at the same
 * time count them once as unread, and a client can ask for parts as often as it likes: to encode 4 MB takes up to 8 ms.
 */
function keptText(text: string): string | Uint8Array {
  if (text.length < minBytes || Buffer.byteLength(text) > textSize(text)) return ownCopy(text);
  return Buffer.from(text);
}

/** A response from an entry: the whole of it, or 304 to a client that has it already. It shares nothing with the entry. */
export function answerFrom(request: Request, entry: CacheEntry, status: CacheStatus): Response {
  const age = Math.max(0, Math.floor((cacheTime() - entry.madeAt + entry.initialAgeMs) / 1000));
  const unchanged = entry.status === 200 && isUnchanged(request, entry);
  const response = new Response();
  response.status = unchanged ? 304 : entry.status;
  response.body = unchanged ? null : entry.body;
  response.type = unchanged ? null : entry.type;
  response.fields = unchanged ? withoutBodyFields(entry.fields) : entry.fields.slice();
  if (status !== "MISS") response.fields.push("Age", String(age));
  response.fields.push("X-Cache", status);
  response.given = true;
  return response;
}

/** RFC 9111 section 4.3.2. */
export function isUnchanged(request: Request, entry: CacheEntry): boolean {
  const { source } = request;
  if (source.header("if-none-match") === undefined && source.header("if-modified-since") === undefined) return false;
  const etag = fieldIn(entry.fields, "ETag");
  const modified = fieldIn(entry.fields, "Last-Modified");
  // A response without its own date counts from the time it was stored; up to the next full second, since dates have
  // no fractions and there may have been another response in the same second.
  const lastModified =
    (modified === undefined ? undefined : parseHttpDate(modified)) ?? Math.ceil(entry.date / 1000) * 1000;
  return evaluateConditions(request.method, (name) => source.header(name), { etag, lastModified }) === "unchanged";
}

/** Fields that belong to one exchange or one connection: they are not stored. */
const notKept = new Set([
  "age",
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authentication-info",
  "proxy-authorization",
  "proxy-connection",
  "server-timing",
  "te",
  "traceparent",
  "tracestate",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-amzn-trace-id",
  "x-cache",
  "x-cloud-trace-context",
  "x-correlation-id",
  "x-request-id",
  "x-trace-id",
]);

function keptFields(fields: readonly string[] | null): string[] {
  const kept: string[] = [];
  if (fields === null) return kept;
  // RFC 9111 section 3.1: nor are those that Connection names.
  const connection = (fieldIn(fields, "Connection") ?? "").toLowerCase().split(",");
  const named = new Set(connection.map((name) => name.trim()));
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!.toLowerCase();
    if (!notKept.has(name) && !named.has(name) && !name.startsWith("x-b3-")) kept.push(fields[i]!, fields[i + 1]!);
  }
  return kept;
}

/** Fields that describe a body, which a 304 does not have (RFC 9110 section 15.4.5). */
export const bodyFields: RegExp = /^(?:accept-ranges|content-(?:disposition|encoding|language|length|range))$/i;

function withoutBodyFields(fields: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    if (!bodyFields.test(fields[i]!)) kept.push(fields[i]!, fields[i + 1]!);
  }
  return kept;
}

/** In lower case, sorted, each once. */
function varyingNames(response: Response, plan: CachePlan): string[] {
  const names = new Set(plan.vary);
  const fields = response.fields ?? [];
  for (let i = 0; i < fields.length; i += 2) {
    if (isSameName(fields[i]!, "Vary"))
      for (const name of fields[i + 1]!.split(",")) names.add(name.trim().toLowerCase());
    // A handler that encodes without a Vary must have chosen by this field.
    else if (isSameName(fields[i]!, "Content-Encoding")) names.add("accept-encoding");
  }
  names.delete("");
  return [...names].sort();
}

function isWhole(body: Response["body"]): body is string | Uint8Array | null {
  return body === null || typeof body === "string" || body instanceof Uint8Array;
}

/** The value of a field in a list of names and values. */
export function fieldIn(fields: readonly string[], wanted: string): string | undefined {
  for (let i = 0; i < fields.length; i += 2) if (isSameName(fields[i]!, wanted)) return fields[i + 1];
  return undefined;
}

interface Sized extends Pick<CacheEntry, "body" | "type" | "fields" | "tags" | "vary"> {
  readonly key: string;
}

/*
 * Bytes that V8 takes for the parts of an entry in a store in memory, beside their texts: measured with Node 20 and 22 over
 * 100,000 small entries, and rounded up. test/batteries/cache/cache-memory.test.ts holds the sum against the heap.
 */
const ofEntry = 640;
const ofField = 8;
const ofTag = 112;
const ofVary = 72;
const ofBytes = 240;

/** Bytes of an entry in memory. */
export function sizeOf({ key, body, type, fields, tags, vary }: Sized): number {
  let size = ofEntry + textSize(key) + (type === null ? 0 : textSize(type));
  if (body !== null) size += typeof body === "string" ? textSize(body) : body.length + ofBytes;
  for (const text of fields) size += textSize(text) + ofField;
  for (const tag of tags) size += textSize(tag) + ofTag;
  for (const [name, value] of vary) size += textSize(name) + textSize(value ?? "") + ofVary;
  return size;
}
