import { connect as connectSocket, isIP, type Socket } from "node:net";
import { connect as connectTls, createSecureContext, type SecureContext } from "node:tls";
import type { PgClient } from "./pg-module.js";
import type { Attempt } from "./tls.js";

/** Milliseconds after which a cancel request that gets nowhere is given up. */
const patience = 2000;

/**
 * Asks the server to cancel the running statement of a session. Resolves when the server has taken the request, or it
 * cannot be delivered; only the response of the statement shows if it had an effect. Like libpq, waits for the server to
 * close the connection: a pooler drops the request if it is closed from here.
 */
export function sendCancel(client: PgClient, attempt: Attempt, host: string): Promise<void> {
  return new Promise((resolve) => {
    const { remoteAddress, remotePort } = client.connection.stream;
    // A Unix socket has no address; the server then ends the statement by its own limit.
    if (remoteAddress === undefined || remotePort === undefined) {
      resolve();
      return;
    }
    const socket = connectSocket({ host: remoteAddress, port: remotePort });
    const timer = setTimeout(() => socket.destroy(), patience);
    socket.on("error", () => {});
    socket.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    socket.once("connect", () => {
      if (attempt === false) socket.write(cancelRequest(client));
      else sendOverTls(socket, client, attempt, host);
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
    secure.once("secureConnect", () => secure.write(cancelRequest(client)));
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

function cancelRequest(client: PgClient): Buffer {
  const message = Buffer.alloc(16);
  message.writeInt32BE(16, 0);
  message.writeInt32BE(80_877_102, 4);
  message.writeInt32BE(client.processID, 8);
  message.writeInt32BE(client.secretKey, 12);
  return message;
}
