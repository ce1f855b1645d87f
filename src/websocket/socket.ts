import type { Writable } from "node:stream";
import type { Query } from "../http/query.js";
import type { Request, RequestContext } from "../http/request.js";
import { Channel, type ChannelLimits } from "./channel.js";
import type { RawSocket } from "./ws.js";

/** A client's WebSocket, as a handler is given it. */
export class WebSocket<Params extends object = Record<string, string>> extends Channel {
  /** @internal The code to close with when the session or token of the client ends. */
  endedCode = 1008;

  constructor(
    raw: RawSocket,
    wire: Writable | null,
    limits: ChannelLimits,
    /** The request that became this WebSocket. */
    readonly request: Request<Params>,
    waits: (bytes: number) => void,
  ) {
    super(raw, limits, wire, waits);
  }

  /** The parameters of the path. */
  get params(): Params {
    return this.request.params;
  }

  get query(): Query {
    return this.request.query;
  }

  /** Values that middleware passed on to the handler. */
  get context(): RequestContext {
    return this.request.context;
  }

  /** Aborted when the connection ends. */
  get signal(): AbortSignal {
    return this.request.signal;
  }
}

/** Rooms are a feature, which declares the types of these members and gives them to the request. */
for (const name of ["join", "leave"]) {
  Object.defineProperty(WebSocket.prototype, name, {
    configurable: true,
    writable: true,
    value(this: WebSocket, ...given: unknown[]) {
      const { rooms } = this.request as unknown as { rooms: Record<string, (...args: unknown[]) => unknown> };
      return rooms[name]!(this, ...given);
    },
  });
}
