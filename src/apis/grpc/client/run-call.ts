import type { Span } from "../../../kit/tracer.js";
import { clientStreams, serverStreams } from "../bound-method.js";
import { GrpcError } from "../grpc-error.js";
import { GrpcStatus } from "../status.js";
import { CallAttempt, type CallParts, encoder } from "./call-attempt.js";
import { CallLimits } from "./call-limits.js";
import type { ChannelSettings } from "./channel-options.js";
import { HedgedAttempts } from "./hedged-attempts.js";
import { KeptFrames } from "./kept-frames.js";
import { Retries, type RetryPolicy } from "./retries.js";
import { configOf } from "./service-config.js";

/** The longest time between two attempts, in milliseconds. */
const longestPause = 5_000;

/** Runs a call: the messages of the server, then its end. Attempts that the server has not begun are repeated. */
export async function* runCall(parts: CallParts): AsyncGenerator<unknown> {
  const { method, settings } = parts;
  const isStream = serverStreams(method);
  const { timeout: most = Infinity, retryPolicy } = configOf(settings.serviceConfig, method.service, method.name);
  const limits = new CallLimits(parts, method.kind === "unary" ? settings.timeout : 0, most);
  const idempotent = parts.options.idempotent ?? method.idempotent;
  const policy = retryPolicy ?? usualPolicy(settings);
  const { hedgeAfter } = policy;
  const retries = new Retries(policy, settings.serviceConfig.retryThrottling, idempotent);
  // Without a policy a stream that was sent in part is never repeated. An interceptor may give one message as a generator.
  const isKept = clientStreams(method) ? retryPolicy !== undefined : !Array.isArray(parts.messages);
  const kept = isKept ? new KeptFrames(parts.messages, encoder(parts)) : null;
  const span = startSpan(parts);
  let received = 0;
  let failure: unknown;
  try {
    limits.check();
    for (;;) {
      const begin = (commit?: (attempt: CallAttempt) => boolean): CallAttempt =>
        new CallAttempt(parts, limits, span, retries.previous, kept, commit);
      const run = hedgeAfter === null ? begin() : new HedgedAttempts(begin, retries, hedgeAfter, limits);
      try {
        for await (const message of run.messages()) {
          if (++received > 1 && !isStream)
            throw new GrpcError("UNIMPLEMENTED", "the server sent more than one message");
          yield message;
        }
        break;
      } catch (error) {
        const pause = retries.pauseAfter(error, run);
        if (pause === null) throw error;
        await limits.pause(pause, error);
      } finally {
        run.end();
      }
    }
    if (received === 0 && !isStream) throw new GrpcError("UNIMPLEMENTED", "the server sent no message");
    retries.succeeded();
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    kept?.end();
    limits.end();
    endSpan(span, failure);
  }
}

/** The policy of calls that the service config does not name. */
function usualPolicy({ retries, retryDelay }: ChannelSettings): RetryPolicy {
  return {
    attempts: retries + 1,
    first: retryDelay * 1000,
    longest: longestPause,
    factor: 2,
    jitter: 0.5,
    codes: unavailable,
    onlySafe: true,
    hedgeAfter: null,
  };
}

const unavailable: ReadonlySet<number> = new Set([GrpcStatus.UNAVAILABLE]);

function startSpan({ method, settings }: CallParts): Span | null {
  const { service, name } = method;
  const { hostname, port, protocol } = settings.urls[0]!;
  return (
    settings.tracer()?.start(
      `${service}/${name}`,
      {
        "rpc.system": "grpc",
        "rpc.service": service,
        "rpc.method": name,
        "server.address": hostname,
        "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
      },
      { kind: "client" },
    ) ?? null
  );
}

function endSpan(span: Span | null, failure: unknown): void {
  if (span === null) return;
  span.set("rpc.grpc.status_code", failure === undefined ? 0 : failure instanceof GrpcError ? failure.grpcCode : 2);
  span.end(failure);
}
