import { App, type Request, Response } from "stoa";
import type { WireRequest, WireResponse } from "../wire.js";

/** An application that counts how often each of its paths was answered by a handler. */
export class CountedApp {
  readonly app = new App();
  readonly runs = new Map<string, number>();

  constructor() {
    this.app.logger = silent;
  }

  /** Adds a GET route whose answer tells how many there have been. */
  page(path: string, headers: Record<string, string> = {}, options: Parameters<App["get"]>[1] = {}): this {
    this.app.get(path, options as object, (request: Request) => {
      const count = this.count(request.path);
      return new Response(`${request.path} ${count}`, { headers });
    });
    return this;
  }

  count(path: string): number {
    const count = (this.runs.get(path) ?? 0) + 1;
    this.runs.set(path, count);
    return count;
  }
}

export const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

/** What of an answer a test of the cache looks at. */
export async function ask(
  app: App,
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<string> {
  const response = await app.request(path, { headers, method });
  return `${response.headers.get("x-cache")} ${await response.text()}`.trim();
}

export function seen(response: WireResponse): string {
  return `${response.get("x-cache")} ${response.text}`.trim();
}

export type { WireRequest };
