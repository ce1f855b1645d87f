import { requestMethods } from "../../http/methods.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import type { Logger } from "../../kit/logger.js";
import { is } from "../../kit/options.js";
import { formatFor, logFormats, outputOf } from "../../logging/create-logger.js";
import { escapeJson, escapeText } from "../../logging/escape.js";
import { isoTime, threeDigits } from "../../logging/iso-time.js";
import type { LineLevel } from "../../logging/levels.js";
import { type Paint, paintFor, type Style } from "../../logging/pretty.js";
import { isSink, standardOutput } from "../../logging/sink.js";

/** Characters shown of a path and the like. */
const maxLength = 2048;
/** Anything but the printable ASCII that stands for itself in a JSON string. */
const special = /[^\x20!#-[\]-~]/;

export const requestLogOptions = options("enableLogging()", {
  /** The format of the lines. Default: that of `app.logger`, pretty in a terminal and JSON elsewhere. */
  format: option(is.oneOf(...logFormats)),
  /** The output of the lines, in place of `app.logger`. */
  sink: option(isSink),
});

export interface RequestLogOptions extends OptionsOf<typeof requestLogOptions.fields> {}

/** Middleware that stands before all other. */
export interface RequestLog {
  readonly name: "logging";
  readonly early: true;
  before(request: Request): void;
  after(request: Request, response: Response): void;
}

/**
 * One line per request: time, method, path, status and latency; the client's address, and the ids of the request and of
 * the trace where it has them. The query is left out, since it may hold secrets. Latency ends when the response is ready
 * to be sent. The lines go to `logger`; to another output if one is given.
 */
export function requestLogger(settings: RequestLogOptions = {}, logger?: Logger): RequestLog {
  const write = lineWriter(settings, logger);
  return {
    name: "logging",
    early: true,
    before(request) {
      // Telemetry, which is outside of this, has read the clock already.
      if (request.startedAt === 0) request.startedAt = performance.now();
    },
    after(request, response) {
      try {
        write(request, response.status, performance.now());
      } catch {
        // A sink that fails must not fail the request that was logged.
      }
    },
  };
}

type WriteLine = (request: Request, status: number, now: number) => void;

/**
 * A logger of the framework gets lines that are put together by hand, for its output and at its level. Any other logger
 * gets a message with fields.
 */
function lineWriter({ sink: given, format }: RequestLogOptions, logger: Logger | undefined): WriteLine {
  const output = given === undefined && logger !== undefined ? outputOf(logger) : null;
  if (given === undefined && logger !== undefined && output === null) return (...line) => writeFields(logger, ...line);
  const sink = given ?? output?.sink ?? standardOutput();
  const chosen = format ?? output?.format ?? formatFor(sink);
  const line = chosen === "json" ? jsonRequestLine : prettyRequestLine(paintFor(sink.fd));
  if (output === null) return (request, status, now) => void sink.write(line(request, status, now));
  const info = output.writes("info");
  const error = output.writes("error");
  return (request, status, now) => {
    if (isFailure(request, status) ? error : info) sink.write(line(request, status, now));
  };
}

function writeFields(logger: Logger, request: Request, status: number, now: number): void {
  const { ip, knownId, serverSpan, logFields } = request;
  logger[levelOf(request, status)]("request", {
    method: request.method,
    path: shortened(request.path),
    status,
    latency_ms: Number(latency(request, now)),
    ...logFields,
    ...(ip !== "" && { ip }),
    ...(knownId !== null && { request_id: shortened(knownId) }),
    ...(serverSpan !== null && { trace_id: serverSpan.traceId }),
  });
}

type RequestLine = (request: Request, status: number, now: number) => string;

// Put together by hand, from few pieces: JSON.stringify of an object takes several times as long, and every piece counts
// again when the batch is flattened for writing.
const jsonRequestLine: RequestLine = (request, status, now) =>
  start(
    isoTime(wallClock(now)),
    (isFailure(request, status) ? errorHeads : infoHeads)[request.method] ??
      head(request.method, levelOf(request, status)),
  ) +
  pathAndStatus(request.path, status) +
  latency(request, now) +
  (request.logFields === null ? "" : escapeJson(`,${JSON.stringify(request.logFields).slice(1, -1)}`)) +
  (request.serverSpan === null ? "" : `,"trace_id":"${request.serverSpan.traceId}"`) +
  client(request.ip, request.knownId);

// Neighbouring lines often have the same pieces: requests of one client, or of one proxy, for one path, in one millisecond.
let lastTime = "";
let lastHead = "";
let lastStart = "";

function start(time: string, head: string): string {
  if (time !== lastTime || head !== lastHead) {
    lastTime = time;
    lastHead = head;
    lastStart = `{"time":"${time}${head}`;
  }
  return lastStart;
}

let lastPath = "";
let lastStatus = 0;
let lastMiddle = "";

function pathAndStatus(path: string, status: number): string {
  if (path !== lastPath || status !== lastStatus) {
    lastPath = path;
    lastStatus = status;
    lastMiddle = `${inQuotes(path)}","status":${status},"latency_ms":`;
  }
  return lastMiddle;
}

function head(method: string, level: LineLevel): string {
  return `","level":"${level}","msg":"request","method":"${inQuotes(method)}","path":"`;
}

function levelOf(request: Request, status: number): "info" | "error" {
  return isFailure(request, status) ? "error" : "info";
}

/** True if the server failed. A method that no server knows (501) is a mistake of the client. */
function isFailure(request: Request, status: number): boolean {
  return status >= 500 && (status !== 501 || knownMethods.has(request.method));
}

const knownMethods: ReadonlySet<string> = new Set(requestMethods);

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const infoHeads: Record<string, string> = headsOf("info");
const errorHeads: Record<string, string> = headsOf("error");

function headsOf(level: LineLevel): Record<string, string> {
  return Object.assign(Object.create(null), Object.fromEntries(methods.map((method) => [method, head(method, level)])));
}

let lastIp = "";
let lastAddress = "";

/** The end of the line. */
function client(ip: string, id: string | null): string {
  if (ip !== lastIp) {
    lastIp = ip;
    lastAddress = ip === "" ? "" : `,"ip":"${inQuotes(ip)}"`;
  }
  return id === null ? `${lastAddress}}\n` : `${lastAddress},"request_id":"${inQuotes(id)}"}\n`;
}

function prettyRequestLine(paint: Paint): RequestLine {
  return (request, status, now) => {
    const { ip, knownId, logFields } = request;
    let line = `${paint("dim", isoTime(wallClock(now)))} ${paint("bold", shown(request.method).padEnd(6))} ${shown(request.path)}`;
    line += ` ${paint(statusStyle(status), String(status))} ${latency(request, now)} ms`;
    if (logFields !== null) line += ` ${shown(Object.values(logFields).join(" "))}`;
    const rest = [ip, knownId ?? "", request.serverSpan?.traceId ?? ""].filter((part) => part !== "").map(shown);
    return `${rest.length ? `${line} ${paint("dim", rest.join(" "))}` : line}\n`;
  };
}

/** Milliseconds with three decimals, from whole microseconds: faster than formatting a fraction. */
function latency(request: Request, now: number): string {
  if (request.startedAt === 0) return "0.000";
  const microseconds = Math.max(0, Math.round((now - request.startedAt) * 1000));
  const whole = Math.floor(microseconds / 1000);
  return `${whole}.${threeDigits(microseconds - whole * 1000)}`;
}

let wallOffset = 0;
let offsetTaken = Number.NEGATIVE_INFINITY;

/** The time of day from the monotonic clock, set right once a second: saves asking the system for both. */
function wallClock(now: number): number {
  // The clock runs backwards where tests put a fake one in its place.
  if (now - offsetTaken >= 1000 || now < offsetTaken) {
    wallOffset = Date.now() - now;
    offsetTaken = now;
  }
  return wallOffset + now;
}

/** The text between the quotes of a JSON string. */
function inQuotes(text: string): string {
  const short = shortened(text);
  return special.test(short) ? escapeJson(JSON.stringify(short)).slice(1, -1) : short;
}

function shown(text: string): string {
  return escapeText(shortened(text));
}

function shortened(text: string): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

function statusStyle(status: number): Style {
  if (status >= 500) return "red";
  if (status >= 400) return "yellow";
  return status >= 300 ? "cyan" : "green";
}
