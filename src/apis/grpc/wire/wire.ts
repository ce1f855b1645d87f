import { httpError } from "../../../errors/http-error.js";
import type { RequestSource } from "../../../http/source.js";
import type { GrpcProtocol } from "../grpc-call.js";
import { acceptedOf, type Encoding, readEncoding } from "./compression.js";
import { readConnectTimeout, readGrpcTimeout } from "./timeout.js";

/** The protocol of a call, and the format of its messages. */
interface Format {
  readonly protocol: GrpcProtocol;
  /** True for messages in JSON, false for protobuf. */
  readonly json: boolean;
  /** True for gRPC-Web in base64. */
  readonly text: boolean;
  /** False for unary calls of Connect, whose body is the message itself. */
  readonly enveloped: boolean;
  /** The Content-Type of the response. */
  readonly type: string;
}

/** The way in which one call is sent: its format, its compression, its time. */
export interface Wire extends Format {
  /** The compression of the client's messages. */
  readonly encoding: Encoding | null;
  /** The compression that the client accepts. */
  readonly accepts: Encoding | null;
  /** Milliseconds that the client waits; null for no limit. */
  readonly timeout: number | null;
}

const formats = new Map<string, Format>();

function addFormat(type: string, protocol: GrpcProtocol, kind: Partial<Format> = {}): void {
  formats.set(type, { protocol, json: type.endsWith("json"), text: false, enveloped: true, type, ...kind });
}

for (const suffix of ["", "+proto", "+json"]) {
  addFormat(`application/grpc${suffix}`, "grpc");
  addFormat(`application/grpc-web${suffix}`, "grpc-web");
}
for (const suffix of ["", "+proto"]) addFormat(`application/grpc-web-text${suffix}`, "grpc-web", { text: true });
for (const format of ["proto", "json"]) {
  addFormat(`application/connect+${format}`, "connect");
  addFormat(`application/${format}`, "connect", { enveloped: false });
}

/** The format of a Content-Type; undefined for one that is not of these protocols. Parameters are ignored. */
export function formatOf(contentType: string | undefined): Format | undefined {
  if (contentType === undefined) return undefined;
  const known = formats.get(contentType);
  if (known !== undefined) return known;
  const end = contentType.indexOf(";");
  const bare = (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
  return formats.get(bare);
}

/** Reads the head of a call. Throws 415 for a Content-Type of another protocol. */
export function readWire(source: RequestSource, streaming: boolean): Wire {
  const format = source.method === "GET" ? undefined : formatOf(source.header("content-type"));
  if (format === undefined) throw httpError("UNSUPPORTED_MEDIA_TYPE");
  if (format.protocol === "connect") return connectWire(source, format, streaming);
  const timeout = source.header("grpc-timeout");
  const encoding = readEncoding(source.header("grpc-encoding"));
  const accepts = acceptedOf(source.header("grpc-accept-encoding"));
  if (timeout !== undefined) return { ...format, encoding, accepts, timeout: readGrpcTimeout(timeout) };
  const key = `${format.type} ${encoding} ${accepts}`;
  let wire = wires.get(key);
  if (wire === undefined) wires.set(key, (wire = { ...format, encoding, accepts, timeout: null }));
  return wire;
}

/** Calls without a deadline: there are few kinds. */
const wires = new Map<string, Wire>();

/** The head of a unary call with GET: the message is in the query. */
export function readGetWire(source: RequestSource, json: boolean, compression: string | undefined): Wire {
  const type = json ? "application/json" : "application/proto";
  return {
    ...formats.get(type)!,
    encoding: readEncoding(compression),
    accepts: acceptedOf(source.header("accept-encoding")),
    timeout: readConnectTimeout(source.header("connect-timeout-ms")),
  };
}

function connectWire(source: RequestSource, format: Format, streaming: boolean): Wire {
  // A unary method takes no stream, and the other way round (Connect protocol, "Unary-Request").
  if (format.enveloped !== streaming) throw httpError("UNSUPPORTED_MEDIA_TYPE");
  const prefix = format.enveloped ? "connect-" : "";
  return {
    ...format,
    encoding: readEncoding(source.header(`${prefix}content-encoding`)),
    accepts: acceptedOf(source.header(`${prefix}accept-encoding`)),
    timeout: readConnectTimeout(source.header("connect-timeout-ms")),
  };
}
