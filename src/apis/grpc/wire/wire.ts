import { httpError } from "../../../errors/http-error.js";
import type { RequestSource } from "../../../http/source.js";
import type { GrpcProtocol } from "../grpc-call.js";
import { GrpcError } from "../grpc-error.js";
import { acceptedOf, type Encoding, readEncoding } from "./compression.js";
import { readConnectTimeout, readGrpcTimeout } from "./timeout.js";

/** The protocol of a call, and the format of its messages. */
export interface Format {
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

/** The format of gRPC-Web or Connect in a POST. Throws 415 for another Content-Type. */
export function webFormat(source: RequestSource, streaming: boolean): Format {
  const format = formatOf(source.header("content-type"));
  // Calls of gRPC itself need HTTP/2 with trailers, and do not come here.
  if (format === undefined || format.protocol === "grpc") throw httpError("UNSUPPORTED_MEDIA_TYPE");
  // A unary method takes no stream, and the other way round (Connect protocol, "Unary-Request").
  if (format.protocol === "connect" && format.enveloped !== streaming) throw httpError("UNSUPPORTED_MEDIA_TYPE");
  return format;
}

/** The format of Connect with GET, by the name of its encoding. Throws 415 for another one. */
export function getFormat(encoding: string | undefined): Format {
  if (encoding !== "json" && encoding !== "proto") throw httpError("UNSUPPORTED_MEDIA_TYPE");
  return formats.get(`application/${encoding}`)!;
}

/** Reads the head of a call. Throws an error of the call. */
export function readWire(source: RequestSource, format: Format): Wire {
  if (format.protocol === "connect") return connectWire(source, format);
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

/** `compression` is that of the message in a query. */
export function connectWire(source: RequestSource, format: Format, compression?: string): Wire {
  const version = source.header("connect-protocol-version");
  if (version !== undefined && version !== "1") {
    throw new GrpcError("INVALID_ARGUMENT", "the header connect-protocol-version must be 1");
  }
  const prefix = format.enveloped ? "connect-" : "";
  return {
    ...format,
    encoding: readEncoding(compression ?? source.header(`${prefix}content-encoding`)),
    accepts: acceptedOf(source.header(`${prefix}accept-encoding`)),
    timeout: readConnectTimeout(source.header("connect-timeout-ms")),
  };
}
