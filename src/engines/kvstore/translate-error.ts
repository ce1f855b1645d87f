import { innermost } from "../../errors/innermost.js";
import { KvStoreError } from "./errors.js";

/** An error of ioredis in our words. `lastError` is the newest `error` event of the connection: the cause of most. */
export function translateError(error: unknown, call: string, address: string, lastError: unknown): KvStoreError {
  if (error instanceof KvStoreError) return error;
  const { name, message } = error instanceof Error ? error : { name: "", message: String(error) };
  if (name === "ReplyError" || name === "ParserError") return refused(message, call);
  if (message === "Command timed out") {
    return new KvStoreError("TIMEOUT", `the key-value store at ${address} did not reply to ${call} in time`);
  }
  return unreachable(address, lastError ?? error);
}

/** There is no connection; `cause` is the reason that the connection gave. */
export function unreachable(address: string, cause: unknown): KvStoreError {
  const reason = reasonOf(cause);
  const message = `the key-value store at ${address} is unreachable: ${reason}`;
  return new KvStoreError("UNREACHABLE", message, { cause: withoutArguments(cause) });
}

/** The server belongs to a cluster, and the settings name one server. */
export function partOfCluster(address: string): KvStoreError {
  const cause = new Error("CLUSTER the server is one of several");
  return new KvStoreError("REFUSED", `the key-value store at ${address} is part of a cluster: set clusterMode: true`, {
    cause,
  });
}

/** Errors of ioredis carry the call with its arguments: passwords and values, which must not get into a log. */
function withoutArguments(cause: unknown): unknown {
  if (typeof cause !== "object" || cause === null || !("command" in cause)) return cause;
  return isHopeless(cause) ? new Error(String((cause as { message?: unknown }).message)) : undefined;
}

/** The innermost cause in words. */
export function reasonOf(error: unknown): string {
  const inner = innermost(error);
  if (!(inner instanceof Error)) return inner === undefined || inner === null ? "no connection" : String(inner);
  // The words of ioredis for a connection that broke before the reply name a setting that is not ours.
  if (inner.name === "MaxRetriesPerRequestError") return "the connection was lost";
  const { code } = inner as { code?: unknown };
  const text = inner.message === "" ? String(code ?? inner.name) : inner.message;
  return typeof code === "string" && !text.includes(code) ? `${text} (${code})` : text;
}

/**
 * True if it is of no use to connect again: the password is wrong, or the certificate is not trusted. A server that
 * just starts gives none of these.
 */
export function isHopeless(error: unknown): boolean {
  const inner = innermost(error);
  if (!(inner instanceof Error)) return false;
  const { code } = inner as { code?: unknown };
  if (typeof code === "string" && hopelessCodes.test(code)) return true;
  return hopelessReplies.test(inner.message);
}

const hopelessCodes = /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|HOSTNAME_MISMATCH|ERR_OSSL)/;
const hopelessReplies =
  /^(?:WRONGPASS|NOAUTH|NOPERM|ERR invalid password|ERR AUTH|ERR DB index|ERR This instance has cluster support disabled|CLUSTER )/i;

function refused(message: string, call: string): KvStoreError {
  const reply = /^[A-Z][A-Z0-9]*\b/.exec(message)?.[0] ?? "ERR";
  // The server quotes arguments of a call that it does not understand: they may be secret, and as long as it likes.
  const text = message.replace(/, with args beginning with:.*/s, "").slice(0, 300);
  return new KvStoreError("REFUSED", `the key-value store refused ${call}: ${text}`, { reply });
}
