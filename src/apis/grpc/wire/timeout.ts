import { GrpcError } from "../grpc-error.js";
import { malformedCall } from "../malformed-call.js";

const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000_001 };

/** The longest time of a timer. */
const longest = 2_147_483_647;

/** Milliseconds of a `grpc-timeout`: up to eight digits and a unit. */
export function readGrpcTimeout(text: string | undefined): number | null {
  if (text === undefined) return null;
  const unit = units[text.charAt(text.length - 1)];
  const digits = text.slice(0, -1);
  if (unit === undefined || !/^\d{1,8}$/.test(digits)) throw malformedCall("the header grpc-timeout is malformed");
  return Math.min(Number(digits) * unit, longest);
}

/** Milliseconds of a `connect-timeout-ms`: up to ten digits. */
export function readConnectTimeout(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^\d{1,10}$/.test(text)) {
    throw new GrpcError("INVALID_ARGUMENT", "the header connect-timeout-ms is malformed");
  }
  return Math.min(Number(text), longest);
}

/**
 * A timeout as it is sent: in milliseconds, in microseconds below one of these. It is rounded up, so that the client's
 * deadline is not the later one.
 */
export function writeGrpcTimeout(milliseconds: number): string {
  if (milliseconds < 1) return `${Math.ceil(milliseconds * 1000)}u`;
  if (milliseconds < 100_000_000) return `${Math.min(99_999_999, Math.ceil(milliseconds))}m`;
  return `${Math.min(99_999_999, Math.ceil(milliseconds / 1000))}S`;
}
