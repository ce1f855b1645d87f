import { matchesWeakly } from "../../http/fields/conditional.js";
import { fieldOf, isSameName } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import type { RequestSource } from "../../http/source.js";
import { bodyFields, fieldIn } from "./entry.js";
import type { CacheEntry } from "./store.js";

/** A validation of a stale entry by the handler (RFC 9111 section 4.3). */
export interface Validation {
  readonly entry: CacheEntry;
  /** True if the client sent its own conditions: a 304 may then be about the client's copy. */
  readonly byClient: boolean;
  /** Gives the request its own fields back. */
  end(): void;
}

/**
 * Adds the validators of a stale entry to a request, so that a handler that evaluates conditions can return 304 in place
 * of a whole body. Null where the entry has none.
 */
export function beginValidation(request: Request, entry: CacheEntry | undefined): Validation | null {
  if (entry === undefined || entry.status !== 200) return null;
  const etag = fieldIn(entry.fields, "ETag");
  const modified = fieldIn(entry.fields, "Last-Modified");
  if (etag === undefined && modified === undefined) return null;
  const { source } = request;
  const tags = source.header("if-none-match");
  const since = source.header("if-modified-since");
  const added = new Map<string, string>();
  if (etag !== undefined && tags?.trim() !== "*") {
    added.set("if-none-match", tags === undefined ? etag : `${tags}, ${etag}`);
  }
  if (modified !== undefined && tags === undefined && since === undefined) added.set("if-modified-since", modified);
  if (added.size === 0) return null;
  return { entry, byClient: (tags ?? since) !== undefined, end: overrideFields(source, added) };
}

/** True if a response says that the entry under validation still holds (RFC 9111 section 4.3.4). */
export function confirms(response: Response, { entry, byClient }: Validation): boolean {
  if (response.status !== 304) return false;
  const etag = fieldOf(response, "ETag");
  if (etag === undefined) return !byClient;
  return matchesWeakly(etag, fieldIn(entry.fields, "ETag"));
}

/** The response of a validated entry, with the fields that the 304 has renewed (RFC 9111 section 3.2). */
export function renewed(entry: CacheEntry, confirmation: Response): Response {
  const given = confirmation.fields ?? [];
  const response = new Response();
  response.status = entry.status;
  response.body = entry.body;
  response.type = entry.type;
  response.fields = [];
  for (let i = 0; i < entry.fields.length; i += 2) {
    const name = entry.fields[i]!;
    if (isSameName(name, "Date") || fieldIn(given, name) !== undefined) continue;
    response.fields.push(name, entry.fields[i + 1]!);
  }
  for (let i = 0; i < given.length; i += 2) {
    if (bodyFields.test(given[i]!)) continue;
    response.fields.push(given[i]!, given[i + 1]!);
  }
  response.tags = [...entry.tags, ...(confirmation.tags ?? [])];
  return response;
}

/** Each request has its own source, so its members can be overridden. */
function overrideFields(source: RequestSource, fields: ReadonlyMap<string, string>): () => void {
  const { header, headerLines } = source;
  const own = { header: Object.hasOwn(source, "header"), headerLines: Object.hasOwn(source, "headerLines") };
  source.header = (name) => fields.get(name) ?? header.call(source, name);
  source.headerLines = () => {
    const lines = headerLines.call(source);
    const kept = lines.filter((_, index) => !fields.has(lines[index - (index % 2)]!.toLowerCase()));
    return [...kept, ...[...fields].flat()];
  };
  return () => {
    if (own.header) source.header = header;
    else delete (source as Partial<RequestSource>).header;
    if (own.headerLines) source.headerLines = headerLines;
    else delete (source as Partial<RequestSource>).headerLines;
  };
}
