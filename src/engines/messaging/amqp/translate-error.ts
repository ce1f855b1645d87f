import { innermost } from "../../../errors/innermost.js";
import { MessagingError } from "../errors.js";

/** An error of amqplib in our words. */
export function amqpError(error: unknown, address: string): MessagingError {
  if (error instanceof MessagingError) return error;
  const text = reasonOf(error);
  const code = (error as { code?: unknown } | null)?.code;
  // 403 access refused, 404 not found, 405 locked, 406 the queue or exchange exists with other settings.
  if (code === 404)
    return new MessagingError("UNKNOWN_TOPIC", `the AMQP broker at ${address}: ${text}`, { cause: error });
  if ((typeof code === "number" && code >= 400) || /ACCESS.REFUSED/.test(text)) {
    return new MessagingError("REFUSED", `the AMQP broker at ${address} refused: ${text}`, { cause: error });
  }
  // amqplib does not tell the reason of a broker that closes the connection when it should open the virtual host.
  if (/ConnectionOpenOk; got <ConnectionClose/.test(text)) {
    const reason = "its virtual host does not exist, is full, or is closed to this user";
    return new MessagingError("REFUSED", `the AMQP broker at ${address} refused: ${reason}`, { cause: error });
  }
  return new MessagingError("UNREACHABLE", `the AMQP broker at ${address} is unreachable: ${text}`, { cause: error });
}

function reasonOf(error: unknown): string {
  const inner = innermost(error);
  if (!(inner instanceof Error)) return String(inner);
  const { code } = inner as { code?: unknown };
  return inner.message === "" ? String(code ?? inner.name) : inner.message;
}
