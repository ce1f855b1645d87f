import { isInstance } from "../../../errors/describe.js";
import { HttpError } from "../../../errors/http-error.js";
import { isAbortOf } from "../../../http/aborted.js";
import type { Request } from "../../../http/request.js";
import type { Response } from "../../../http/response.js";
import { packDetail } from "../codec/status-message.js";
import { GrpcError, type GrpcErrorDetail } from "../grpc-error.js";
import type { Metadata } from "../metadata.js";
import { codeOfHttp, GrpcStatus, type GrpcStatusCode, statusName } from "../status.js";

/** The end of a call, as its client sees it. */
export interface Outcome {
  readonly code: GrpcStatusCode;
  readonly message: string;
  readonly details: readonly GrpcErrorDetail[];
  /** Metadata of the error. */
  readonly metadata: Metadata | null;
}

const unsendable = "the details of an error cannot be encoded";

export const success: Outcome = { code: GrpcStatus.OK, message: "", details: [], metadata: null };

/** The outcome of an error. The message of an error that is not for clients is hidden if `mask` is true. */
export function outcomeOfError(error: unknown, mask: boolean): Outcome {
  if (isInstance(error, GrpcError)) {
    const { grpcCode: code, message, metadata } = error;
    try {
      return { code, message, details: error.details.map(packDetail), metadata };
    } catch (cause) {
      return outcomeOfError(new Error(unsendable, { cause }), mask);
    }
  }
  if (isInstance(error, HttpError)) {
    const code = codeOfHttp(error.status);
    const hidden = mask && error.status >= 500 && code === GrpcStatus.INTERNAL;
    return {
      code,
      message: hidden ? "internal error" : error.message || statusName(code),
      details: [],
      metadata: null,
    };
  }
  const message = mask ? "internal error" : messageOf(error);
  return { code: GrpcStatus.INTERNAL, message, details: [], metadata: null };
}

/** The outcome of a response that is not of the handler: of a guard, of authentication, of a limit, of an error. */
export function outcomeOfResponse(request: Request, response: Response, mask: boolean): Outcome {
  const { error } = request;
  if (error !== undefined) {
    const outcome = outcomeOfError(error, mask);
    // An exception handler may have decided otherwise.
    const status = isInstance(error, HttpError) ? error.status : 500;
    if (isInstance(error, GrpcError) && outcome.code !== error.grpcCode) request.log.error(unsendable, { error });
    if (status === response.status) return outcome;
  }
  const code = codeOfHttp(response.status);
  return { code, message: detailOf(response) ?? statusName(code), details: [], metadata: null };
}

/** Logs an error after the first message of a stream, unless the client has left or has broken the protocol. */
export function noteLateFailure(request: Request, error: unknown, outcome: Outcome): void {
  request.error ??= error;
  if (outcome.code !== GrpcStatus.INTERNAL || isAbortOf(request, error)) return;
  const isMalformed = isInstance(error, GrpcError) && error.grpcCode === outcome.code && error.status < 500;
  if (!isMalformed) request.log.error("a call failed after its first message", { error });
}

/** The status of a call that has ended with an error, or null, and with a status of HTTP. */
export function codeOf(error: unknown, status: number): GrpcStatusCode {
  if (error === null) return status < 400 ? GrpcStatus.OK : codeOfHttp(status);
  // A stream fails after its head was sent; an exception handler may have decided otherwise.
  const own = isInstance(error, HttpError) ? error.status : 500;
  return status < 400 || own === status ? outcomeOfError(error, true).code : codeOfHttp(status);
}

/** The explanation in a JSON body, as middleware writes it: `detail`, or `error`. */
function detailOf({ body, type }: Response): string | undefined {
  if (typeof body !== "string" || type === null) return undefined;
  if (type.startsWith("text/plain")) return body.slice(0, 1000);
  if (!type.includes("json") || body.length > 65_536) return undefined;
  try {
    const { detail, error } = JSON.parse(body) as { detail?: unknown; error?: unknown };
    return [detail, error].find((text) => typeof text === "string") as string | undefined;
  } catch {
    return undefined;
  }
}

function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return "internal error";
  }
}
