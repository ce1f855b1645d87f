import { createHash } from "node:crypto";
import { HttpError, httpError } from "../../src/errors/http-error.js";
import { problemResponse } from "../../src/errors/pages/problem.js";
import { Response } from "../../src/http/response.js";
import type { Dispatch } from "../../src/server/transport.js";
import fc from "../support/properties.js";

/** A response as the model predicts it, and as a client compares it. */
export interface ModelResponse {
  readonly status: number;
  readonly body: string;
  /** True if the response says that the connection closes. */
  readonly closes: boolean;
}

/** A request of a sequence, with the response that it must get whatever way its bytes arrive. */
export interface ModelRequest {
  readonly method: string;
  readonly bytes: string;
  readonly response: ModelResponse;
}

/** The last bytes of a connection. */
export interface ModelEnding {
  readonly name: string;
  readonly bytes: string;
  /** The response to these bytes; null when there is none. */
  readonly response: ModelResponse | null;
}

const hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";

const bodyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 60 }) },
  { weight: 3, arbitrary: fc.constantFrom(hidden, "0\r\n\r\n", "\r\n", "\r\n\r\n", "5\r\nhello\r\n") },
  { weight: 1, arbitrary: fc.integer({ min: 1000, max: 100_000 }).map((size) => "0123456789".repeat(size / 10)) },
);

interface ModelBody {
  readonly text: string;
  readonly fields: string;
  readonly bytes: string;
}

const lengthBody: fc.Arbitrary<ModelBody> = bodyText.map((text) => ({
  text,
  fields: `Content-Length: ${text.length}\r\n`,
  bytes: text,
}));

const chunkedBody: fc.Arbitrary<ModelBody> = fc
  .tuple(
    fc.array(bodyText, { maxLength: 4 }),
    fc.constantFrom("", ";a", ';a=b;c="d"'),
    fc.constantFrom("", "Sum: 1\r\n", "A: b\r\nC:\r\n"),
  )
  .map(([pieces, extension, trailers]) => ({
    text: pieces.join(""),
    fields: "Transfer-Encoding: chunked\r\n",
    bytes: `${pieces
      .filter((piece) => piece !== "")
      .map((piece) => `${piece.length.toString(16)}${extension}\r\n${piece}\r\n`)
      .join("")}0\r\n${trailers}\r\n`,
  }));

const noBody: ModelBody = { text: "", fields: "", bytes: "" };

/** Handlers by path: the ways in which a handler can read a body and respond. */
const withBody = ["/now", "/later", "/streamed", "/in-parts"] as const;
const sizes = [0, 1, 5000, 20_000, 70_000, 300_000] as const;

const request: fc.Arbitrary<ModelRequest> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .record({
        method: fc.constantFrom("GET", "GET", "GET", "HEAD", "POST", "PUT", "QUERY"),
        path: fc.constantFrom(...withBody),
        body: fc.oneof({ weight: 3, arbitrary: fc.constant(noBody) }, lengthBody, chunkedBody),
        fields: fc.constantFrom("", "Accept: */*\r\n", `Cookie: ${"c".repeat(300)}\r\nX:\r\n`),
        emptyLine: fc.constantFrom("", "", "", "\r\n"),
      })
      .map(({ method, path, body, fields, emptyLine }) => ({
        method,
        bytes: `${emptyLine}${method} ${path} HTTP/1.1\r\n${fields}Host: a\r\n${body.fields}\r\n${body.bytes}`,
        response: ok(method, description(method, path, Buffer.from(body.text, "latin1"))),
      })),
  },
  {
    // A chunked body is left out: if the handler does not read it, the connection is kept only if it has arrived.
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom("GET", "POST"), lengthBody).map(([method, body]) => ({
      method,
      bytes: `${method} /unread HTTP/1.1\r\nHost: a\r\n${body.fields}\r\n${body.bytes}`,
      response: ok(method, "unread"),
    })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom("GET", "HEAD"), fc.constantFrom("now", "later"), fc.constantFrom(...sizes))
      .map(([method, time, size]) => ({
        method,
        bytes: `${method} /size/${time}/${size} HTTP/1.1\r\nHost: a\r\n\r\n`,
        response: ok(method, "x".repeat(size)),
      })),
  },
);

/** Up to 20 requests. A body that is not read must be shorter than the part that a connection skips (64 KiB). */
export const requests: fc.Arbitrary<ModelRequest[]> = fc.array(
  request.filter(({ bytes }) => !bytes.includes("/unread") || bytes.length < 60_000),
  { maxLength: 20 },
);

const refused = (status: number): ModelResponse => ({ status, body: "problem", closes: true });

/** Endings of a connection. Bytes that are refused have a request behind them that must not be seen. */
export const endings: readonly ModelEnding[] = [
  { name: "nothing", bytes: "", response: null },
  { name: "an empty line", bytes: "\r\n", response: null },
  {
    name: "a last request",
    bytes: `GET /now HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n${hidden}`,
    response: { status: 200, body: description("GET", "/now", Buffer.alloc(0)), closes: true },
  },
  { name: "a malformed field", bytes: `GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n${hidden}`, response: refused(400) },
  { name: "no Host", bytes: `GET / HTTP/1.1\r\nA: b\r\n\r\n${hidden}`, response: refused(400) },
  { name: "a long method", bytes: `${"A".repeat(33)} / HTTP/1.1\r\nHost: a\r\n\r\n${hidden}`, response: refused(501) },
  { name: "another version", bytes: `GET / HTTP/2.0\r\nHost: a\r\n\r\n${hidden}`, response: refused(505) },
  { name: "a long target", bytes: `GET /${"a".repeat(17_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, response: refused(414) },
  { name: "a long field", bytes: `GET / HTTP/1.1\r\nA: ${"a".repeat(33_000)}\r\n\r\n`, response: refused(431) },
  {
    name: "a malformed length",
    bytes: `POST /now HTTP/1.1\r\nHost: a\r\nContent-Length: 5x\r\n\r\nhello${hidden}`,
    response: refused(400),
  },
  {
    name: "a malformed chunk",
    bytes: `POST /later HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!${hidden}`,
    response: refused(400),
  },
  { name: "half a head", bytes: "GET /now HTTP/1.1\r\nHo", response: refused(400) },
  {
    name: "half a body",
    bytes: "POST /now HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nhello",
    response: refused(400),
  },
  {
    name: "half a body that is not read",
    bytes: "POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nhello",
    response: { status: 200, body: "unread", closes: false },
  },
  {
    name: "half a chunk",
    bytes: "POST /later HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nhello",
    response: refused(400),
  },
];

/** The application that the model predicts. */
export const modelDispatch: Dispatch = (incoming) => {
  const { method, path } = incoming;
  const body = incoming.source.body;
  const [, kind, time, size] = path.split("/");
  if (kind === "unread") return new Response("unread");
  if (kind === "size") {
    const response = new Response("x".repeat(Number(size)));
    return time === "now" ? response : later(response);
  }
  if (kind === "in-parts") return inParts().catch(problemOf);
  if (kind === "streamed") return whole().then((text) => Response.stream(parts(text)), problemOf);
  const received = body === null ? Buffer.alloc(0) : body.received;
  if (received === null) return whole().then((text) => new Response(text), problemOf);
  const response = new Response(description(method, path, received));
  return kind === "now" ? response : later(response);

  async function whole(): Promise<string> {
    return description(method, path, body === null ? Buffer.alloc(0) : await body.read(1_000_000));
  }

  async function inParts(): Promise<Response> {
    const pieces: Uint8Array[] = [];
    if (body) for await (const piece of body.stream(1_000_000)) pieces.push(Uint8Array.from(piece));
    return new Response(description(method, path, Buffer.concat(pieces)));
  }
};

function problemOf(error: unknown): Response {
  return problemResponse(error instanceof HttpError ? error : httpError("INTERNAL_SERVER_ERROR"));
}

async function* parts(text: string): AsyncGenerator<string> {
  yield text.slice(0, 10);
  await turn();
  yield text.slice(10);
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function later(response: Response): Promise<Response> {
  await turn();
  return response;
}

function ok(method: string, body: string): ModelResponse {
  return { status: 200, body: method === "HEAD" ? "" : body, closes: false };
}

function description(method: string, path: string, body: Uint8Array): string {
  return `${method} ${path} ${body.length} ${createHash("sha1").update(body).digest("hex")}`;
}
