import type { JsonSchema } from "../../../validation/json-schema.js";

export interface AsyncApiReference {
  $ref: string;
}

/** The address of a broker. */
export interface AsyncApiServer {
  readonly host: string;
  /** Default: the name of the broker. */
  readonly protocol?: string;
  readonly description?: string;
  readonly [member: string]: unknown;
}

export interface AsyncApiMessage {
  name: string;
  contentType: string;
  payload: JsonSchema;
  [member: string]: unknown;
}

export interface AsyncApiChannel {
  /** Null for the place of replies, which each request names. */
  address: string | null;
  messages: Record<string, AsyncApiMessage>;
  description?: string;
  servers?: AsyncApiReference[];
  [member: string]: unknown;
}

export interface AsyncApiOperation {
  action: "send" | "receive";
  channel: AsyncApiReference;
  messages: AsyncApiReference[];
  summary?: string;
  description?: string;
  [member: string]: unknown;
}

/** An AsyncAPI 3.0 document. */
export interface AsyncApiDocument {
  asyncapi: string;
  info: { title: string; version: string; description?: string; [member: string]: unknown };
  channels: Record<string, AsyncApiChannel>;
  operations: Record<string, AsyncApiOperation>;
  components?: { schemas?: Record<string, JsonSchema>; [member: string]: unknown };
  [member: string]: unknown;
}
