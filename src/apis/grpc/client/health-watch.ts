import type { ClientHttp2Session } from "node:http2";
import { GrpcError } from "../grpc-error.js";
import { frameOf } from "../wire/frames.js";
import { Attempt } from "./attempt.js";

/** Largest response of the health service in bytes. */
const maxResponse = 1024;

/**
 * True while the server serves, each time that its health changes (`grpc.health.v1.Health/Watch`). The stream is no call of
 * the application: it does not keep the process alive.
 */
export async function* watchHealth(
  session: ClientHttp2Session,
  service: string,
  signal: AbortSignal,
): AsyncGenerator<boolean> {
  const headers = {
    ":method": "POST",
    ":path": "/grpc.health.v1.Health/Watch",
    "content-type": "application/grpc",
    te: "trailers",
    "user-agent": "stoa",
  };
  const attempt = new Attempt(session, headers, maxResponse, () => {});
  const cancel = (): void => attempt.cancel(new GrpcError("CANCELLED", "the connection is left"));
  signal.addEventListener("abort", cancel);
  try {
    const name = Buffer.from(service);
    // HealthCheckRequest: field 1 is the name. HealthCheckResponse: field 1 is the status, and 1 means SERVING.
    attempt.end(frameOf(name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a, name.length]), name]), 0));
    for (let frame = await attempt.next(); frame !== null; frame = await attempt.next()) {
      yield frame.data[0] === 0x08 && frame.data[1] === 1;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}
