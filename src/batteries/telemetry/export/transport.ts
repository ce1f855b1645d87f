import type { Readable } from "node:stream";
import type { SignalSettings } from "../settings.js";

/** The end of one attempt to export a batch. */
export type Outcome =
  /** The collector has taken it, except for `rejected` items. */
  | { readonly kind: "sent"; readonly rejected: number; readonly message: string }
  /** The collector may take it later: `after` are the milliseconds that it asks for. */
  | { readonly kind: "later"; readonly reason: string; readonly after: number | null }
  /** The collector will never take it. */
  | { readonly kind: "refused"; readonly reason: string };

/** Carries batches to a collector. */
export interface Transport {
  /** Never rejects. Ends within its time limit, or when the signal is aborted. */
  send(body: readonly Uint8Array[], signal: AbortSignal): Promise<Outcome>;
  close(): void;
}

/** The place of a collector and the way to it. */
export interface TransportOptions extends Omit<SignalSettings, "protocol" | "tls"> {
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
}

/** Bytes of a response that are read. A collector has little to say. */
const maxResponse = 64 * 1024;

/** The body of a response, and the reason why it is not whole. */
export async function readReply(response: Readable): Promise<{ readonly body: Buffer; readonly failure: unknown }> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > maxResponse) throw new Error("the response is too long");
      pieces.push(piece);
    }
    return { body: Buffer.concat(pieces), failure: null };
  } catch (failure) {
    return { body: Buffer.concat(pieces), failure };
  }
}

/** The reason why an attempt was ended from here; null if it was not. */
export function endOf(signal: AbortSignal, limit: AbortSignal, timeout: number): string | null {
  if (signal.aborted) return "the application ends";
  return limit.aborted ? `no response within ${timeout} ms` : null;
}

/** The reason of a failed connection, in a few words and without secrets. */
export function reasonOf(error: unknown): string {
  const { code, message, errors } = (error ?? {}) as { code?: unknown; message?: unknown; errors?: unknown };
  const inner: unknown = Array.isArray(errors) ? errors[0] : undefined;
  if (typeof message === "string" && message !== "") return message;
  return inner === undefined ? String(code ?? "the connection failed") : reasonOf(inner);
}
