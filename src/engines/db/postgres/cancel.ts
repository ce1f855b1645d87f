import { isIP, type Socket } from "node:net";
import { connect as connectTls, createSecureContext, type SecureContext } from "node:tls";
import type { Connected } from "./connect.js";
import type { PgClient } from "./pg-module.js";
import { streamBeside } from "./stream.js";
import type { Attempt } from "./tls.js";

type Session = Pick<Connected, "client" | "attempt" | "host" | "open">;

/** Milliseconds after which a cancel request that gets nowhere is given up. */
const patience = 2000;

/**
 * Asks the server to cancel the running statement of a session. Resolves when the server has taken the request, or it
 * cannot be delivered; only the response of the statement shows if it had an effect. Like libpq, waits for the server to
 * close the connection: a pooler drops the request if it is closed from here.
 */
export async function sendCancel({ client, attempt, host, open }: Session): Promise<void> {
  const socket = await streamBeside(client.connection.stream, open, host, patience).catch(() => null);
  if (socket === null) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => socket.destroy(), patience);
    socket.on("error", () => {});
    socket.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    socket.once("connect", () => {
      if (attempt === false) requestCancel(socket, client);
      else sendOverTls(socket, client, attempt, host.host);
    });
  });
}

/** The key that cancels statements is sent to the server alone: its certificate is checked as that of a session. */
function sendOverTls(socket: Socket, client: PgClient, attempt: Exclude<Attempt, false>, host: string): void {
  socket.write(sslRequest);
  socket.once("data", (answer) => {
    // Bytes after the first were injected before the encryption began.
    if (answer.length !== 1 || answer[0] !== "S".charCodeAt(0)) {
      socket.destroy();
      return;
    }
    const name = isIP(host) === 0 ? { servername: host } : {};
    const secure = connectTls({ ...attempt, ...name, host, socket, secureContext: contextOf(attempt) });
    secure.on("error", () => socket.destroy());
    secure.once("secureConnect", () => requestCancel(secure, client));
  });
}

const contexts = new WeakMap<object, SecureContext>();

/** The keys and trusted certificates, read once: to read them takes as long as the rest of the connection. */
function contextOf(attempt: Exclude<Attempt, false>): SecureContext {
  let context = contexts.get(attempt);
  if (context === undefined) contexts.set(attempt, (context = createSecureContext(attempt)));
  return context;
}

const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

function requestCancel(socket: Socket, client: PgClient): void {
  const message = Buffer.alloc(16);
  message.writeInt32BE(16, 0);
  message.writeInt32BE(80_877_102, 4);
  message.writeInt32BE(client.processID, 8);
  message.writeInt32BE(client.secretKey, 12);
  socket.write(message);
  // To see the end, all before it must be read.
  socket.resume();
}
