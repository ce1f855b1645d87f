import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { Channel } from "../websocket/channel.js";
import { socketSettings } from "../websocket/options.js";
import { loadWs, type RawSocket } from "../websocket/ws.js";

/** The client's end of a WebSocket. */
export class TestSocket extends Channel {
  /** The header fields of the response to the handshake. */
  readonly headers: Headers;

  constructor(raw: RawSocket, headers: Headers) {
    // A test may send without awaiting as much as it likes.
    super(raw, socketSettings({ heartbeat: 0, maxBuffered: 2 ** 30 }).limits);
    this.headers = headers;
  }
}

/** The server did not open the WebSocket; `response` is its response. */
export class WebSocketRefusedError extends Error {
  override name = "WebSocketRefusedError";

  constructor(readonly response: globalThis.Response) {
    super(`the WebSocket was refused with status ${response.status}`);
  }

  get status(): number {
    return this.response.status;
  }
}

/** Does the client's part of the handshake over a connection. */
export async function connect(
  connection: Duplex,
  url: string,
  protocols: readonly string[],
  headers: Readonly<Record<string, string>>,
): Promise<TestSocket> {
  const { WebSocket } = await loadWs();
  return new Promise((resolve, reject) => {
    const raw = new WebSocket(url, protocols, {
      headers,
      createConnection: () => connection,
      autoPong: false,
      perMessageDeflate: false,
    });
    raw.once("error", reject);
    // Made here and not when it is open: a message may come with the same bytes as the response.
    raw.once("upgrade", (answer: IncomingMessage) => {
      const socket = new TestSocket(raw, headersOf(answer));
      raw.once("open", () => resolve(socket));
    });
    raw.once("unexpected-response", (_request: unknown, answer: IncomingMessage) => {
      refusal(answer).then((response) => {
        connection.destroy();
        reject(new WebSocketRefusedError(response));
      }, reject);
    });
  });
}

async function refusal(answer: IncomingMessage): Promise<globalThis.Response> {
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  const body = pieces.length > 0 ? Buffer.concat(pieces) : null;
  return new globalThis.Response(body, { status: answer.statusCode ?? 500, headers: headersOf(answer) });
}

function headersOf(answer: IncomingMessage): Headers {
  const headers = new Headers();
  const lines = answer.rawHeaders;
  for (let i = 0; i < lines.length; i += 2) headers.append(lines[i]!, lines[i + 1]!);
  return headers;
}
