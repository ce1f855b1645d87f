import { randomUUID } from "node:crypto";
import { describeError } from "../../../errors/describe.js";
import type { Broker } from "../broker.js";
import { frameworkHeaders, headerText } from "../headers.js";
import { encodeValue } from "../values.js";
import type { InFlightMessage } from "./in-flight-message.js";

/** The end of topics that take replies. */
export const replySuffix = ".replies";

/** A message can ask for a reply to these places only: others would let its sender choose any queue of the broker. */
const allowed = /^(?:amq\.[\w.=+/-]{1,220}|[A-Za-z0-9._-]{1,190}\.replies)$/;

type Reply = { readonly value: unknown } | { readonly error: string };

/** The reply to a message that the handler has rejected. */
export function rejected(reason: string): Reply {
  return { error: `the message was rejected: ${reason}` };
}

/** The reply to a message that is a dead letter now. */
export function deadLetterReply(error: unknown): Reply {
  return { error: `the handler failed: ${describeError(error).message}` };
}

function canReply({ replies, abilities }: Broker): boolean {
  return replies !== undefined || abilities.broadcast;
}

/**
 * Sends the result of a handler to the process that waits for it. A message that is no request gets none. A handler of
 * batches has no result for each message: those get none either.
 */
export function sendReply({ consumer, delivery }: InFlightMessage, result: Reply): void {
  if (consumer.settings.batch !== null) return;
  const { id, headers } = delivery.record;
  const address = headers[frameworkHeaders.replyTo];
  // A broker without requests has no place for replies: the header is not ours.
  if (address === undefined || !canReply(consumer.broker)) return;
  const failed = (error: unknown) =>
    consumer.logger.warn(`a reply to a message of '${consumer.topic}' was not sent`, { message_id: id, error });
  try {
    if (!allowed.test(address)) throw new Error("the message asks for a reply to a place that takes none");
    const { body, contentType } = encodeValue("value" in result ? (result.value ?? null) : null);
    const record = {
      topic: address,
      id: randomUUID(),
      key: null,
      headers: {
        [frameworkHeaders.contentType]: contentType,
        [frameworkHeaders.correlation]: headers[frameworkHeaders.correlation] ?? id,
        ...("error" in result && { [frameworkHeaders.replyError]: headerText(result.error) }),
      },
      body,
      timestamp: Date.now(),
      delayMs: 0,
      direct: true,
    };
    const { replies } = consumer.broker;
    // Not waited for: the message is handled whatever happens to the reply.
    (replies === undefined ? consumer.publisher.publish(record) : replies.send(record)).catch(failed);
  } catch (error) {
    failed(error);
  }
}
