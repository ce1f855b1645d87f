import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { readPartialSuccess, readStatusMessage } from "../otlp/reader.js";
import { endOf, type Outcome, readReply, reasonOf, type Transport, type TransportOptions } from "./transport.js";

const compressed = promisify(gzip);

/** The statuses after which a batch is sent once more (OTLP specification, "OTLP/HTTP Response"). */
const retryable = new Set([429, 502, 503, 504]);

/** OTLP over HTTP, with binary protocol buffers. On node:http: its requests are seen by no instrumentation of `fetch`. */
export class HttpTransport implements Transport {
  readonly #options: TransportOptions;
  readonly #agent: http.Agent | https.Agent;
  readonly #module: typeof http | typeof https;

  constructor(options: TransportOptions) {
    this.#options = options;
    const secure = options.url.protocol === "https:";
    this.#module = secure ? https : http;
    const settings = { keepAlive: true, maxSockets: 2, maxFreeSockets: 1 };
    this.#agent = secure ? new https.Agent({ ...settings, ...options.tls }) : new http.Agent(settings);
  }

  async send(pieces: readonly Uint8Array[], signal: AbortSignal): Promise<Outcome> {
    const { url, headers, timeout, compression } = this.#options;
    const limit = AbortSignal.timeout(timeout);
    try {
      const whole = Buffer.concat(pieces);
      const body = compression === "gzip" ? await compressed(whole) : whole;
      const request = this.#module.request(url, {
        method: "POST",
        agent: this.#agent,
        signal: AbortSignal.any([signal, limit]),
        headers: {
          ...headers,
          "content-type": "application/x-protobuf",
          "content-length": body.length,
          ...(compression === "gzip" && { "content-encoding": "gzip" }),
        },
      });
      request.on("error", () => {});
      // A slow collector must not keep the process alive.
      request.on("socket", (socket) => socket.unref());
      request.end(body);
      const [response] = (await once(request, "response")) as [http.IncomingMessage];
      return outcomeOf(response, (await readReply(response)).body);
    } catch (error) {
      const reason = endOf(signal, limit, timeout) ?? `${reasonOf(error)}${grpcHint(url, error)}`;
      return { kind: "later", reason, after: null };
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** A server of gRPC responds in HTTP/2, which is no response of HTTP/1.1, or closes the connection. */
function grpcHint({ port }: URL, error: unknown): string {
  const { code = "" } = error as NodeJS.ErrnoException;
  const isOther = code.startsWith("HPE_") || (port === "4317" && code !== "ECONNREFUSED");
  return isOther ? '; if this is the port of gRPC, set protocol: "grpc"' : "";
}

/** Decides by the status, also where the body is cut short or is no message. */
function outcomeOf({ statusCode = 0, headers }: http.IncomingMessage, body: Buffer): Outcome {
  if (statusCode >= 200 && statusCode < 300) return { kind: "sent", ...readPartialSuccess(body) };
  const message = headers["content-type"]?.includes("protobuf") ? readStatusMessage(body) : "";
  const reason = `status ${statusCode}${message === "" ? "" : `: ${message}`}`;
  if (!retryable.has(statusCode)) return { kind: "refused", reason };
  return { kind: "later", reason, after: retryAfter(headers["retry-after"]) };
}

/** Milliseconds to wait by a Retry-After header: seconds, or a date (RFC 9110 section 10.2.3). */
export function retryAfter(value: string | undefined): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}
