import { isRecord } from "../../kit/own-property.js";

/** The versions of the protocol, the newest first. */
export const versions = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;
export type Version = (typeof versions)[number];

export function isVersion(value: unknown): value is Version {
  return (versions as readonly unknown[]).includes(value);
}

/** Codes of errors: those of JSON-RPC 2.0, and that of MCP for an unknown resource. */
export const codes = {
  parse: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  refused: -32_000,
  unknownResource: -32_002,
} as const;

/** An error that the client gets as the `error` of a response. Its message is sent as it is. */
export class RpcError extends Error {
  readonly code: number;
  /** The status of the HTTP response, where it is not 200. */
  readonly status: number;
  /** Further header fields of that response. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: keyof typeof codes, message: string, status = 200, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = codes[code];
    this.status = status;
    this.headers = headers;
  }
}

/** The levels of log messages, the least important first. */
export const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;
export type McpLevel = (typeof levels)[number];

export type RpcId = string | number;
export type Params = Readonly<Record<string, unknown>>;

export interface RpcRequest {
  readonly kind: "request";
  readonly id: RpcId;
  readonly method: string;
  readonly params: Params;
}

export interface RpcNotification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: Params;
}

/** The response of a client to a request of the server. */
export interface RpcReply {
  readonly kind: "reply";
  readonly id: RpcId;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

export type RpcMessage = RpcRequest | RpcNotification | RpcReply;

/** Ids are kept while a call runs, and repeated in its response. */
const maxId = 256;

export function readMessage(value: unknown): RpcMessage {
  if (!isRecord(value) || value["jsonrpc"] !== "2.0") throw invalid('a message is an object with "jsonrpc": "2.0"');
  const { id, method, params = {} } = value;
  if (id !== undefined && !isId(id)) throw invalid(`an id is an integer, or text of at most ${maxId} characters`);
  if (method === undefined) {
    if (id === undefined) throw invalid("a message has a method, or the id of a request");
    const { result, error } = value;
    if (isRecord(error))
      return { kind: "reply", id, error: { message: String(error["message"] ?? "").slice(0, 1000) } };
    if (!("result" in value)) throw invalid("a response has a result or an error");
    return { kind: "reply", id, result };
  }
  if (typeof method !== "string") throw invalid("a method is a string");
  if (!isRecord(params)) throw invalid("params are an object");
  return id === undefined ? { kind: "notification", method, params } : { kind: "request", id, method, params };
}

function isId(value: unknown): value is RpcId {
  return typeof value === "string" ? value.length <= maxId : Number.isSafeInteger(value);
}

function invalid(message: string): RpcError {
  return new RpcError("invalidRequest", message, 400);
}

/** A response as JSON. `result` is JSON already. */
export function resultText(id: RpcId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

export function errorText(id: RpcId | null, { code, message }: RpcError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });
}

export function notificationText(method: string, params?: object): string {
  return JSON.stringify({ jsonrpc: "2.0", method, ...(params && { params }) });
}

/** A parameter that must be text. */
export function textOf(params: Params, name: string): string {
  const value = params[name];
  if (typeof value !== "string") throw new RpcError("invalidParams", `'${name}' must be text`);
  return value;
}
