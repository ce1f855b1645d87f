import { isPlainObject } from "../../../kit/options.js";
import type { Message } from "../../../websocket/message.js";

/** A message of a client in the protocol graphql-transport-ws. */
export type ClientMessage =
  | { readonly type: "connection_init"; readonly payload: Readonly<Record<string, unknown>> }
  | { readonly type: "ping"; readonly payload: unknown }
  | { readonly type: "pong" }
  | { readonly type: "subscribe"; readonly id: string; readonly payload: unknown }
  | { readonly type: "complete"; readonly id: string };

/** An id is chosen by the client, and kept while its operation runs. */
const maxId = 200;

/** Reads a message; null if it is none of the protocol. */
export function readMessage(message: Message): ClientMessage | null {
  if (message.text === undefined) return null;
  let given: unknown;
  try {
    given = message.json();
  } catch {
    return null;
  }
  if (!isPlainObject(given)) return null;
  const { type, id, payload } = given;
  switch (type) {
    case "connection_init":
      if (payload !== undefined && payload !== null && !isPlainObject(payload)) return null;
      return { type, payload: payload ?? {} };
    case "ping":
      return { type, payload };
    case "pong":
      return { type };
    case "subscribe":
      return isId(id) && isPlainObject(payload) ? { type, id, payload } : null;
    case "complete":
      return isId(id) ? { type, id } : null;
    default:
      return null;
  }
}

function isId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.length <= maxId;
}
