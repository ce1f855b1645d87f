import { HttpError } from "../../errors/http-error.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import type { MessageInput, MessageLike } from "../../kit/protobuf/message-types.js";
import { ValueError } from "../../kit/value-error.js";
import { Metadata, type MetadataInit } from "./metadata.js";
import { GrpcStatus, type GrpcStatusCode, type GrpcStatusName, httpStatusOf, statusName } from "./status.js";

/** A message that explains an error: a descriptor with its value, or the bytes of a message with the URL of its type. */
export type GrpcErrorDetail =
  | { readonly typeUrl: string; readonly value: Uint8Array }
  | { readonly schema: MessageLike; readonly value: object };

const initOptions = options("GrpcError", {
  /** Messages that explain the error. They are sent as `google.rpc.Status`. */
  details: option<readonly GrpcErrorDetail[]>(is.list(is.object)),
  /** Metadata that is sent in the trailers. */
  metadata: option<MetadataInit>(is.object),
  /** The status of HTTP in logs, metrics and responses outside of gRPC. By default it follows from the code. */
  httpStatus: option(is.integer(100, 599)),
  /** The error that led to this one, for logs. */
  cause: option<unknown>(is.anything),
});

export interface GrpcErrorInit extends OptionsOf<typeof initOptions.fields> {}

const noInit: GrpcErrorInit = {};

/**
 * An error with a status of gRPC. A handler throws it, and the client gets its code, message, details and metadata. A client
 * that calls a service gets one for each call that fails.
 */
export class GrpcError extends HttpError {
  /** The number of the status. */
  readonly grpcCode: GrpcStatusCode;
  readonly details: readonly GrpcErrorDetail[];
  readonly metadata: Metadata;

  constructor(code: GrpcStatusName | GrpcStatusCode, message?: string, given?: GrpcErrorInit) {
    const init = given === undefined ? noInit : initOptions.readGiven([given]);
    const number = numberOf(code);
    const name = statusName(number);
    super(init.httpStatus ?? httpStatusOf(number), message ?? name, {
      code: name,
      ...(init.cause !== undefined && { cause: init.cause }),
    });
    this.grpcCode = number;
    this.details = init.details ?? [];
    this.metadata = init.metadata instanceof Metadata ? init.metadata : new Metadata(init.metadata);
  }

  /** The name of the status, such as `NOT_FOUND`. */
  get statusName(): GrpcStatusName {
    return statusName(this.grpcCode);
  }
}

/** A detail from a generated descriptor: `detail(BadRequestSchema, { fieldViolations: [...] })`. */
export function grpcDetail<M extends MessageLike>(schema: M, value: MessageInput<M>): GrpcErrorDetail {
  return { schema, value: value as object };
}

function numberOf(code: GrpcStatusName | GrpcStatusCode): GrpcStatusCode {
  const number = typeof code === "string" ? GrpcStatus[code] : code;
  if (Number.isInteger(number) && number > 0 && number <= 16) return number;
  throw new ValueError(`${JSON.stringify(code)} is not a status of a failed call`);
}
