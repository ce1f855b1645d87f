import { createHash } from "node:crypto";
import { once } from "node:events";
import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** A proxy: what clients of HTTP/1.1 want of it, it requests by HTTP/2, WebSockets too (RFC 8441). */
export interface Bridge {
  readonly port: number;
  close(): void;
}

export async function bridgeTo(port: number): Promise<Bridge> {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  await once(session, "remoteSettings");
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    void readHead(socket).then((head) => head !== null && request(session, socket, head));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      session.destroy();
    },
  };
}

async function readHead(socket: Socket): Promise<string | null> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    const piece = socket.read() as Buffer | null;
    if (piece !== null) bytes = Buffer.concat([bytes, piece]);
    const end = bytes.indexOf("\r\n\r\n");
    if (end !== -1) {
      socket.unshift(bytes.subarray(end + 4));
      return bytes.subarray(0, end).toString("latin1");
    }
    if (socket.destroyed || socket.readableEnded) return null;
    await Promise.race([once(socket, "readable"), once(socket, "close")]);
  }
}

function request(session: ClientHttp2Session, socket: Socket, head: string): void {
  const [first = "", ...lines] = head.split("\r\n");
  const fields: OutgoingHttpHeaders = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    fields[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const { host, connection: _, upgrade, "sec-websocket-key": key, ...rest } = fields;
  const isWebSocket = upgrade !== undefined;
  const stream = session.request(
    {
      ":method": isWebSocket ? "CONNECT" : first.split(" ")[0],
      ...(isWebSocket && { ":protocol": upgrade }),
      ":scheme": "http",
      ":authority": String(host),
      ":path": first.split(" ")[1],
      ...rest,
    },
    { endStream: !isWebSocket },
  );
  stream.on("error", () => socket.destroy());
  socket.on("close", () => stream.close(constants.NGHTTP2_CANCEL));
  stream.on("close", () => stream.rstCode !== constants.NGHTTP2_NO_ERROR && socket.destroy());
  stream.on("response", ({ ":status": status, ...answered }, _flags, ...more) => {
    const raw = (more as unknown as [string[] | undefined])[0] ?? Object.entries(answered).flat();
    const isOpen = isWebSocket && status === 200;
    const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    let text = isOpen
      ? `HTTP/1.1 101 \r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n`
      : `HTTP/1.1 ${status} \r\nConnection: close\r\n`;
    for (let i = 0; i < raw.length; i += 2) if (raw[i] !== ":status") text += `${raw[i]}: ${raw[i + 1]}\r\n`;
    socket.write(`${text}\r\n`, "latin1");
    stream.pipe(socket);
    if (isOpen) socket.pipe(stream);
  });
}
