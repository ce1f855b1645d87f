import type { Logger } from "../../../internal/logger.js";
import type { Transaction } from "../../db/database.js";
import { own } from "../headers.js";
import { Message } from "../message.js";
import { checkIncoming, decodeValue } from "../values.js";
import { failed, markReceived, type Outcome } from "./attempt.js";
import type { Held } from "./held.js";
import type { WorkPlace } from "./place.js";

/** The message of a delivery with its value checked; or the outcome, if the value does not fit. */
export async function receive(
  held: Held,
  place: WorkPlace,
  attempt: number,
  tx?: Transaction,
): Promise<Message | Outcome> {
  const { settings, topic } = place;
  const { record } = held.delivery;
  held.renew();
  let value: { readonly value: unknown } | undefined;
  if (settings.schema !== null) {
    try {
      const decoded = decodeValue(record.body, record.headers[own.contentType]);
      value = { value: await checkIncoming(topic, settings.schema, decoded, record.body) };
    } catch (error) {
      return failed(markReceived(error));
    }
  }
  let log: Logger | null = null;
  return new Message({
    topic,
    record,
    attempt,
    tx,
    signal: () => held.signal,
    log: () => (log ??= place.logger.child({ topic, message_id: record.id, attempt })),
    ...(value && { value }),
  });
}
