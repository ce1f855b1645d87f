import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { App } from "stoa";
import { serve, type TestServer, type TestServerOptions } from "stoa/testing";
import { afterAll } from "vitest";

export const transports = ["net", "node"] as const;
export type TransportName = (typeof transports)[number];

/** What a client reads, with its JSON taken apart where it is some. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  readonly json: any;
}

/** Serves an application over a real socket until the tests of the block are done. */
export function served(make: () => App, transport: TransportName, options: TestServerOptions = {}) {
  let server: Promise<TestServer> | undefined;
  const start = (): Promise<TestServer> => (server ??= serve(make(), { transport, ...options }));
  afterAll(async () => (await server)?.close());
  const call = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch((await start()).url + path, { redirect: "manual", ...init });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parsed(text) };
  };
  const send = (method: string) => (path: string, body?: unknown) =>
    call(path, {
      method,
      ...(body !== undefined && {
        body: typeof body === "string" ? body : JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
    });
  return { call, start, get: call, post: send("POST"), put: send("PUT"), patch: send("PATCH"), del: send("DELETE") };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Sends bytes and reads until the server closes. */
export function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(bytes, "latin1");
  return text(socket);
}
