import { discardBody } from "../../../http/discard.js";
import type { Request } from "../../../http/request.js";
import { type BodyStream, Response } from "../../../http/response.js";
import type { Exchange } from "../server/exchange.js";
import { noteLateFailure, type Outcome, outcomeOfError, outcomeOfResponse, success } from "../server/outcome.js";
import { httpStatusOf } from "../status.js";
import { connectEnd, connectError, webTrailers } from "./envelope.js";
import { asText, WebBody } from "./web-body.js";

/** Turns the response of the pipeline into one of gRPC-Web or Connect. */
export function webResponse(exchange: Exchange, response: Response, mask: boolean): Response {
  const { wire, request } = exchange;
  const replied = exchange.replied && response.status === 200 && response.type === wire.type;
  if (!replied) {
    discardBody(response);
    return failed(exchange, response, outcomeOfResponse(request, response, mask));
  }
  exchange.addMetadata(response);
  const { body } = response;
  if (!wire.enveloped) return withTrailerFields(exchange, response);
  if (body instanceof Uint8Array) {
    const whole = Buffer.concat([body, lastFrame(exchange, success)]);
    response.body = wire.text ? asText(whole) : whole;
  } else {
    response.body = new WebBody(
      body as BodyStream,
      (error) => lastFrame(exchange, error === undefined ? success : broken(request, error, mask)),
      wire.text,
    );
  }
  return response;
}

function broken(request: Request, error: unknown, mask: boolean): Outcome {
  const outcome = outcomeOfError(error, mask);
  noteLateFailure(request, error, outcome);
  return outcome;
}

function lastFrame({ wire, call }: Exchange, outcome: Outcome): Buffer {
  return wire.protocol === "connect" ? connectEnd(outcome, call.ownTrailers) : webTrailers(outcome, call.ownTrailers);
}

/** Trailers of a unary call of Connect are header fields with a prefix. */
function withTrailerFields({ call }: Exchange, response: Response): Response {
  const own = call.ownTrailers;
  if (own !== null) for (const [name, value] of own.wire()) response.addField(`trailer-${name}`, value);
  return response;
}

/** Fields of a response that describe the body that is not sent. */
const bodyFields = new Set(["content-length", "content-encoding", "etag"]);

function failed(exchange: Exchange, { fields }: Response, outcome: Outcome): Response {
  const { wire } = exchange;
  let made: Response;
  if (wire.enveloped) {
    const frame = lastFrame(exchange, outcome);
    made = new Response(wire.text ? asText(frame) : frame, 200, wire.type);
  } else {
    made = Response.json(connectError(outcome), httpStatusOf(outcome.code));
    for (const metadata of [exchange.call.ownTrailers, outcome.metadata]) {
      if (metadata === null) continue;
      for (const [name, value] of metadata.wire()) made.addField(`trailer-${name}`, value);
    }
  }
  for (let i = 0; i < (fields?.length ?? 0); i += 2) {
    if (!bodyFields.has(fields![i]!.toLowerCase())) made.addField(fields![i]!, fields![i + 1]!);
  }
  exchange.addMetadata(made);
  return made;
}
