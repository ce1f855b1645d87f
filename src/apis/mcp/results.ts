import { discardBody } from "../../http/discard.js";
import type { BodyStream, Response } from "../../http/response.js";
import { isRecord } from "../../kit/own-property.js";
import { base64, protocolType } from "./content.js";
import { RpcError } from "./protocol.js";

/** Bytes of a streamed response that become a result. */
const maxStreamed = 16 * 1024 * 1024;

/** The body of a response, whole. */
export interface WholeBody {
  readonly type: string;
  readonly bytes: Uint8Array | null;
  readonly text: string;
}

export async function readBody(response: Response, signal: AbortSignal): Promise<WholeBody> {
  const { body } = response;
  const [type] = (response.type ?? "").toLowerCase().split(";") as [string];
  if (body === null) return { type, bytes: null, text: "" };
  if (typeof body === "string") return { type, bytes: null, text: body };
  if (body instanceof Uint8Array) return whole(type, body);
  if (type === "text/event-stream") {
    discardBody(response);
    throw new RpcError("internal", "The route sends events, which cannot be the result of a call.");
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body as BodyStream) {
    const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
    size += bytes.length;
    if (size > maxStreamed) throw new RpcError("internal", "The result is too large.");
    if (signal.aborted) throw signal.reason;
    pieces.push(bytes);
  }
  return whole(type, Buffer.concat(pieces));
}

/** The result of `tools/call`, as JSON. */
export function toolResult(response: Response, body: WholeBody, name: string): string {
  const { type, text } = body;
  if (response.status >= 300) return failed(errorMessage(response, body));
  if (type === protocolType) return text;
  if (type === "") return '{"content":[]}';
  if (isJson(type)) {
    const value: unknown = JSON.parse(text);
    return JSON.stringify({ content: [{ type: "text", text }], ...(isRecord(value) && { structuredContent: value }) });
  }
  const [kind] = type.split("/");
  if (kind === "text") return JSON.stringify({ content: [{ type: "text", text }] });
  const data = base64(body.bytes ?? Buffer.from(text));
  if (kind === "image" || kind === "audio") {
    return JSON.stringify({ content: [{ type: kind, data, mimeType: type }] });
  }
  const resource = { uri: `result:${name}`, mimeType: type, blob: data };
  return JSON.stringify({ content: [{ type: "resource", resource }] });
}

/** A tool that failed: the model sees the reason and can call it again. */
export function failed(message: string): string {
  return JSON.stringify({ content: [{ type: "text", text: message }], isError: true });
}

/** The result of `resources/read`, as JSON. */
export function resourceResult(body: WholeBody, uri: string, mimeType: string | undefined): string {
  if (body.type === protocolType) return body.text;
  const type = mimeType ?? (body.type || "text/plain");
  const isText = body.bytes === null || isJson(body.type) || body.type.startsWith("text/");
  const content = isText ? { text: body.text } : { blob: base64(body.bytes!) };
  return JSON.stringify({ contents: [{ uri, mimeType: type, ...content }] });
}

/** The error of a response in words. The pipeline has left out what clients must not see. */
export function errorMessage(response: Response, { type, text }: WholeBody): string {
  if (response.status < 400) return `Redirected to ${response.headers.get("location") ?? "another address"}.`;
  if (!isJson(type)) return text || `The call failed with status ${response.status}.`;
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) return text;
  const { detail, error } = value;
  if (Array.isArray(detail)) return `Invalid input. ${detail.map(issueText).join("; ")}`;
  if (typeof detail === "string" && detail !== "") return detail;
  return typeof error === "string" ? error : text;
}

function issueText(issue: { readonly loc?: readonly unknown[]; readonly msg?: unknown }): string {
  const place = (issue.loc ?? []).slice(1).join(".");
  return place === "" ? String(issue.msg) : `${place}: ${String(issue.msg)}`;
}

function isJson(type: string): boolean {
  return type === "application/json" || type.endsWith("+json");
}

function whole(type: string, bytes: Uint8Array): WholeBody {
  return { type, bytes, text: isJson(type) || type.startsWith("text/") ? Buffer.from(bytes).toString() : "" };
}
