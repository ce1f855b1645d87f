import { packDetail } from "../codec/status-message.js";
import type { Metadata } from "../metadata.js";
import { base64 } from "../metadata.js";
import { trailersOf } from "../server/native-call.js";
import { type Outcome, success } from "../server/outcome.js";
import { connectCode } from "../status.js";
import { frameOf } from "../wire/frames.js";

const trailersFlag = 0x80;
const endStreamFlag = 0x02;

/** The last frame of a response of gRPC-Web: its trailers, as lines of HTTP/1.1. */
export function webTrailers(outcome: Outcome, own: Metadata | null): Buffer {
  let lines = "";
  for (const [name, value] of Object.entries(trailersOf(outcome, own))) {
    for (const item of Array.isArray(value) ? value : [value]) lines += `${name}: ${item}\r\n`;
  }
  return frameOf(Buffer.from(lines, "latin1"), trailersFlag);
}

/** The last frame of a stream of Connect. */
export function connectEnd(outcome: Outcome, own: Metadata | null): Buffer {
  const metadata: Record<string, string[]> = Object.create(null);
  for (const part of [own, outcome.metadata]) {
    if (part !== null) for (const [name, value] of part.wire()) (metadata[name] ??= []).push(value);
  }
  const end = {
    ...(outcome !== success && { error: connectError(outcome) }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
  return frameOf(Buffer.from(JSON.stringify(end)), endStreamFlag);
}

/** An error as Connect writes it. */
export function connectError(outcome: Outcome): object {
  return {
    code: connectCode(outcome.code),
    ...(outcome.message !== "" && { message: outcome.message }),
    ...(outcome.details.length > 0 && {
      details: outcome.details.map((detail) => {
        const { typeUrl, value } = packDetail(detail);
        return { type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value: base64(value) };
      }),
    }),
  };
}
