import { connect, type Socket } from "node:net";
import type { BackendMessage, Pglite } from "./pglite-module.js";

/** A message to the process that keeps a database open: bytes of the protocol as base64, or the begin or the end of a session. */
export type KeptRequest = { readonly bytes: string } | { readonly alone: boolean };

/** A message of that process: the response to the oldest request, or a notification. */
export type KeptMessage =
  | { readonly messages: readonly BackendMessage[] }
  | { readonly failure: string }
  | { readonly channel: string; readonly payload: string };

/** An embedded database that another process has open. */
export async function connectKept(path: string): Promise<Pglite> {
  const socket = connect(path);
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  const waiting: { resolve(messages: BackendMessage[]): void; reject(error: Error): void }[] = [];
  const listeners = new Set<(channel: string, payload: string) => void>();
  readLines(socket, (line) => {
    const message = JSON.parse(line) as KeptMessage;
    if ("channel" in message) for (const listener of listeners) listener(message.channel, message.payload);
    else if ("failure" in message) waiting.shift()?.reject(new Error(message.failure));
    else waiting.shift()?.resolve([...message.messages]);
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => {});
  void closed.then(() => {
    for (const { reject } of waiting.splice(0)) reject(new Error("the process that has the database open has ended"));
  });
  const ask = (request: KeptRequest): Promise<BackendMessage[]> =>
    new Promise((resolve, reject) => {
      if (socket.destroyed) return reject(new Error("the process that has the database open has ended"));
      waiting.push({ resolve, reject });
      send(socket, request);
    });
  return {
    execProtocolStream: (bytes) => ask({ bytes: Buffer.from(bytes).toString("base64") }),
    alone: (alone) => ask({ alone }),
    onNotification(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    dumpDataDir: () => Promise.reject(new Error("only the process that has the database open can copy it")),
    async close() {
      socket.end();
      await closed;
    },
  };
}

/** Calls back with each line. Not node:readline: it takes U+2028, which JSON may contain, for the end of a line. */
export function readLines(socket: Socket, onLine: (line: string) => void): void {
  let rest: string[] = [];
  socket.setEncoding("utf8").on("data", (text: string) => {
    const lines = text.split("\n");
    rest.push(lines.shift()!);
    for (const line of lines) {
      onLine(rest.join(""));
      rest = [line];
    }
  });
}

export function send(socket: Socket, message: KeptRequest | KeptMessage): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}
