import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2";
import { afterEach } from "vitest";
import { createHttp2Transport } from "../../../src/server/http2/transport.js";
import { defaultLimits } from "../../../src/server/limits.js";
import type { Dispatch, TransportOptions } from "../../../src/server/transport.js";
import { start as startTransport } from "../support.js";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A server of HTTP/2. `abuses` are the codes of connections that it ended. */
export async function start(dispatch: Dispatch, options: Partial<TransportOptions> = {}) {
  const abuses: string[] = [];
  const started = await startTransport(createHttp2Transport, dispatch, {
    ...defaultLimits,
    onAbuse: (code) => abuses.push(code),
    ...options,
  });
  const scheme = options.tls ? "https" : "http";
  const dial = (): Promise<ClientHttp2Session> => open(`${scheme}://127.0.0.1:${started.address.port}`);
  /** A request on a connection of its own. */
  const ask = async (headers: OutgoingHttpHeaders = {}, body?: string | Uint8Array): Promise<Reply> => {
    const session = await dial();
    try {
      return await send(session, headers, body);
    } finally {
      session.destroy();
    }
  };
  return { ...started, abuses, dial, ask };
}

export async function open(origin: string): Promise<ClientHttp2Session> {
  const session = connect(origin, { rejectUnauthorized: false });
  session.on("error", () => {});
  cleanups.push(() => session.destroy());
  await once(session, "connect");
  return session;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** The code with which the stream was closed. */
  readonly code: number;
}

export async function send(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders = {},
  body?: string | Uint8Array,
): Promise<Reply> {
  const stream = session.request({ ":path": "/", ...headers }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return reply(stream);
}

/** Reads a response to its end, or to the point where the server breaks it off. */
export function reply(stream: ClientHttp2Stream): Promise<Reply> {
  return new Promise((resolve) => {
    let headers: Record<string, string | string[] | undefined> = {};
    const pieces: Buffer[] = [];
    stream.on("error", () => {});
    stream.on("response", (fields) => {
      headers = fields as typeof headers;
    });
    stream.on("data", (piece: Buffer) => pieces.push(piece));
    stream.on("close", () => {
      const body = Buffer.concat(pieces).toString("latin1");
      resolve({ status: Number(headers[":status"] ?? 0), headers, body, code: stream.rstCode });
    });
  });
}
