import { connect, type Socket } from "node:net";
import { show } from "../../../kit/options.js";
import { within } from "../../../kit/time/within.js";
import type { OpenStream } from "../config.js";
import type { DatabaseServer } from "../url.js";
import { isUnixSocket } from "./tls.js";

/**
 * The stream that the user's function opens, in the form that node-postgres needs: it calls `connect` on it, and then
 * waits for the event. A stream that comes too late is closed.
 */
export async function openStream(open: OpenStream, host: DatabaseServer, timeout: number): Promise<Socket> {
  const opening = (async () => {
    const opened = await open({ ...host });
    // Without a listener, the error of one that is given up would end the process.
    opened?.on?.("error", () => {});
    return opened;
  })();
  const stream = (await within(opening, timeout, () => {
    opening.then((lost) => lost.destroy()).catch(() => {});
    throw new Error("the function for the stream took too long");
  })) as Socket;
  if (typeof stream?.write !== "function" || typeof stream.destroy !== "function") {
    throw new Error(`the function for the stream returned ${show(stream)}, not a duplex stream`);
  }
  if (stream.destroyed) throw new Error("the function for the stream returned one that is closed");
  stream.connect = () => {
    if (!stream.connecting) process.nextTick(() => stream.emit("connect"));
    return stream;
  };
  // Streams other than sockets stay open after the server has closed its side.
  stream.once("end", () => stream.destroy());
  for (const name of ["setNoDelay", "setKeepAlive", "ref", "unref"] as const) stream[name] ??= () => stream;
  return stream;
}

/** A second stream to the server of a session: to its address, for a name may have several. */
export async function streamBeside(
  session: Socket,
  open: OpenStream | undefined,
  host: DatabaseServer,
  timeout: number,
): Promise<Socket> {
  if (open !== undefined) return (await openStream(open, host, timeout)).connect({ port: host.port });
  if (isUnixSocket(host)) return connect(`${host.host}/.s.PGSQL.${host.port}`);
  return connect({ host: session.remoteAddress ?? host.host, port: session.remotePort ?? host.port });
}
