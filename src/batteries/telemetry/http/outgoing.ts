import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Attributes } from "../../../kit/tracer.js";
import { type ContextSpan, currentFrame, traceHeaders } from "../trace/context.js";
import { RecordedSpan, statusError } from "../trace/recorded-span.js";
import type { TelemetryTracer } from "../trace/tracer.js";
import { conventionalMethod } from "./server-head.js";

/** A request of `fetch`, and of undici, as its diagnostics channels show it. */
interface OutgoingRequest {
  readonly origin?: string | URL;
  readonly path: string;
  readonly method: string;
  /** Lines in older versions, names and values in turn in newer ones. */
  readonly headers?: string | readonly (string | readonly string[])[];
  addHeader?(name: string, value: string): unknown;
}

export interface OutgoingParts {
  readonly tracer: TelemetryTracer;
  readonly recordQuery: boolean;
  /** Hosts that get the trace headers; null for all. */
  readonly propagateTo: ReadonlySet<string> | null;
}

/**
 * Records outgoing requests of `fetch` and passes the trace on in their headers. undici, which is Node's `fetch`, reports
 * each request on diagnostics channels, in the asynchronous context of its caller. Returns a function that ends it.
 */
export function traceFetch(parts: OutgoingParts): () => void {
  const spans = new WeakMap<object, ContextSpan>();
  const listeners: Readonly<Record<string, (message: unknown) => void>> = {
    "undici:request:create": (message) => {
      const { request } = message as { request: OutgoingRequest };
      const span = begin(request, parts);
      if (span !== null) spans.set(request, span);
    },
    "undici:request:headers": (message) => {
      const { request, response } = message as { request: object; response: { statusCode: number } };
      const span = spans.get(request);
      if (!(span instanceof RecordedSpan)) return;
      span.set("http.response.status_code", response.statusCode);
      if (response.statusCode < 400) return;
      span.set("error.type", String(response.statusCode));
      span.setStatus(statusError);
    },
    "undici:request:trailers": (message) => spans.get((message as { request: object }).request)?.end(),
    "undici:request:error": (message) => {
      const { request, error } = message as { request: object; error: unknown };
      spans.get(request)?.end(error);
    },
  };
  for (const [channel, listener] of Object.entries(listeners)) subscribe(channel, listener);
  return () => {
    for (const [channel, listener] of Object.entries(listeners)) unsubscribe(channel, listener);
  };
}

function begin(request: OutgoingRequest, { tracer, recordQuery, propagateTo }: OutgoingParts): ContextSpan | null {
  const frame = currentFrame();
  // Each application listens; the request belongs to the one whose code makes it.
  if (frame?.span && frame.span.source !== tracer) return null;
  const url = urlOf(request);
  if (url === null || request.method === "CONNECT") return null;
  const method = conventionalMethod(request.method);
  const start = {
    name: method === "_OTHER" ? "HTTP" : method,
    kind: "client" as const,
    attributes:
      frame?.span && !frame.span.recording ? undefined : attributesOf(method, request.method, url, recordQuery),
  };
  const span = tracer.begin(start, frame?.span ?? null, frame?.baggage ?? null);
  if (propagateTo === null || propagateTo.has(url.hostname) || propagateTo.has(url.host)) {
    const headers = Object.entries(traceHeaders(span, frame?.baggage ?? null));
    for (const [name, value] of headers) {
      if (isWanted(name, tracer) && !hasHeader(request, name)) request.addHeader?.(name, value);
    }
  }
  return span;
}

function isWanted(name: string, { propagation }: TelemetryTracer): boolean {
  return name === "baggage" ? propagation.baggage : propagation.traceContext;
}

function attributesOf(method: string, original: string, url: URL, recordQuery: boolean): Attributes {
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  return {
    "http.request.method": method,
    "http.request.method_original": method === original ? undefined : original,
    "server.address": url.hostname.replace(/^\[|\]$/g, ""),
    "server.port": port,
    // Neither user and password nor, unless it is asked for, the query: it may hold secrets.
    "url.full": `${url.protocol}//${url.host}${url.pathname}${recordQuery ? url.search : ""}`,
  };
}

function urlOf({ origin, path }: OutgoingRequest): URL | null {
  try {
    return new URL(path, String(origin));
  } catch {
    return null;
  }
}

/** True if the caller has set the header: it knows better. */
function hasHeader({ headers }: OutgoingRequest, name: string): boolean {
  if (typeof headers === "string")
    return headers.toLowerCase().includes(`\n${name}:`) || headers.startsWith(`${name}:`);
  if (!Array.isArray(headers)) return false;
  for (let i = 0; i < headers.length; i += 2) if (String(headers[i]).toLowerCase() === name) return true;
  return false;
}
