import type { Duplex } from "node:stream";

/** The first bytes of a client that speaks HTTP/2 (RFC 9113 section 3.4). */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/**
 * Reads the first bytes of a connection without TLS and calls back once they show the protocol. The bytes stay in the
 * socket. A connection that ends before that is ended.
 */
export function sniff(socket: Duplex, decided: (isHttp2: boolean) => void): void {
  let held: Buffer | null = null;
  const onEnd = (): void => {
    socket.end();
  };
  const onReadable = (): void => {
    const bytes = socket.read() as Buffer | null;
    if (bytes === null) return;
    held = held === null ? bytes : Buffer.concat([held, bytes]);
    const known = Math.min(held.length, preface.length);
    const isHttp2 = held.compare(preface, 0, known, 0, known) === 0;
    if (isHttp2 && known < preface.length) return;
    socket.off("readable", onReadable);
    socket.off("end", onEnd);
    socket.unshift(held);
    decided(isHttp2);
  };
  socket.on("readable", onReadable);
  socket.on("end", onEnd);
}
