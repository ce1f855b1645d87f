import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import type { SseEvent } from "../../http/sse.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { longestDelay } from "../../kit/time/within.js";
import type { Bus, BusMessage } from "./bus.js";
import { notificationText } from "./protocol.js";
import { keyOf, type McpSession, type McpSessions } from "./sessions.js";

/** Messages that wait for a client; beyond it the oldest are dropped. */
const maxWaiting = 1000;

interface Open {
  readonly id: string;
  readonly uris: Set<string>;
  send(text: string): void;
  end(): void;
}

/** The streams on which clients wait for notifications, one for each session. */
export class Streams {
  readonly #open = new Map<string, Open>();

  /** `lists` is a hash of the lists: a client that has seen others, of an earlier version of the application, is told. */
  constructor(
    private readonly bus: Bus,
    private readonly sessions: McpSessions,
    private readonly lists: string,
    private readonly secs: number,
  ) {}

  respond(request: Request, session: McpSession): Response {
    return Response.sse((signal) => this.#events(request, session, signal));
  }

  hear(message: BusMessage): void {
    if (message.kind === "updated") {
      const text = notificationText("notifications/resources/updated", { uri: message.uri });
      for (const stream of this.#open.values()) if (stream.uris.has(message.uri)) stream.send(text);
    } else if (message.kind === "subscribed") {
      const uris = this.#open.get(message.session)?.uris;
      if (message.on) uris?.add(message.uri);
      else uris?.delete(message.uri);
    } else if (message.kind === "opened") {
      const stream = this.#open.get(message.session);
      if (stream !== undefined && stream.id !== message.stream) stream.end();
    }
  }

  drain(): void {
    for (const stream of this.#open.values()) stream.end();
  }

  /** Ends the stream of a session that is over. */
  end(session: McpSession): void {
    this.bus.tell({ kind: "opened", session: keyOf(session.id), stream: "" });
  }

  async *#events(request: Request, session: McpSession, signal: AbortSignal): AsyncGenerator<SseEvent> {
    const key = keyOf(session.id);
    const waiting: string[] = [];
    let wake = (): void => {};
    let isOver = false;
    const stream: Open = {
      id: nodeCrypto().randomUUID(),
      uris: new Set(session.data.uris),
      send(text) {
        if (waiting.push(text) > maxWaiting) waiting.shift();
        wake();
      },
      end() {
        isOver = true;
        wake();
      },
    };
    this.#open.get(key)?.end();
    this.#open.set(key, stream);
    this.bus.tell({ kind: "opened", session: key, stream: stream.id });
    signal.addEventListener("abort", stream.end);
    request.onAbort(stream.end);
    const unchanged = (): object => ({});
    const every = Math.min(this.secs * 500, longestDelay);
    const touch = setInterval(() => void this.sessions.change(session, unchanged).catch(() => {}), every).unref();
    try {
      if (session.data.lists !== this.lists) {
        await this.sessions.change(session, () => ({ lists: this.lists }));
        for (const kind of ["tools", "resources", "prompts"]) {
          stream.send(notificationText(`notifications/${kind}/list_changed`));
        }
      }
      while (!isOver) {
        const data = waiting.shift();
        if (data !== undefined) yield { data };
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      clearInterval(touch);
      if (this.#open.get(key) === stream) this.#open.delete(key);
    }
  }
}
