import type { Host } from "../../../feature/host.js";
import { receivedBody } from "../../../http/body/received-body.js";
import { Request } from "../../../http/request.js";
import type { RequestSource } from "../../../http/source.js";
import type { Message } from "../message.js";

const messages = new WeakMap<Request, Message>();

/**
 * A message in the form of a request, for guards and for the factories of dependencies: `request.headers`, `request.json()`,
 * `request.db`, `request.log`. Its method is MESSAGE, its path the topic, its id that of the message.
 */
export function requestOf(message: Message, host: Host): Request {
  const request = new Request(sourceOf(message));
  request.host = host;
  request.pattern = `/${message.topic}`;
  request.context.request_id = message.id;
  messages.set(request, message);
  return request;
}

/** The message of such a request; undefined for a request of a client. */
export function messageOf(request: Request): Message | undefined {
  return messages.get(request);
}

function sourceOf(message: Message): RequestSource {
  const { headers, bytes } = message;
  return {
    method: "MESSAGE",
    path: `/${message.topic}`,
    search: "",
    remoteAddress: "",
    secure: false,
    wantsWebSocket: false,
    body: receivedBody(bytes),
    header: (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined),
    headerLines: () => Object.entries(headers).flat(),
  };
}
