import type { Transaction } from "../../db/database.js";
import { own } from "../headers.js";
import { Message } from "../message.js";
import type { ValueSchema } from "../topic.js";
import { checkIncoming, decodeValue } from "../values.js";
import { failed, markReceived, type Outcome } from "./attempt.js";
import type { Held } from "./held.js";
import type { WorkPlace } from "./place.js";

/** The message of a delivery with its value checked; or the outcome, if the value does not fit. */
export function receive(
  held: Held,
  place: WorkPlace,
  attempt: number,
  tx?: Transaction,
): Message | Promise<Message | Outcome> {
  held.renew();
  if (place.settings.schema === null) return messageOf(held, place, attempt, tx);
  return checked(held, place, attempt, place.settings.schema, tx);
}

async function checked(
  held: Held,
  place: WorkPlace,
  attempt: number,
  schema: ValueSchema,
  tx: Transaction | undefined,
): Promise<Message | Outcome> {
  const { record } = held.delivery;
  try {
    const decoded = decodeValue(record.body, record.headers[own.contentType]);
    const value = await checkIncoming(place.topic, schema, decoded, record.body);
    return messageOf(held, place, attempt, tx, { value });
  } catch (error) {
    return failed(markReceived(error));
  }
}

function messageOf(
  held: Held,
  { topic, logger }: WorkPlace,
  attempt: number,
  tx: Transaction | undefined,
  value?: { readonly value: unknown },
): Message {
  const { record } = held.delivery;
  return new Message({ topic, record, attempt, tx, held, logger, value });
}
