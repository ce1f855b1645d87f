import type { OutgoingRecord } from "../broker.js";
import { sizeOf } from "../publish/size.js";

/** Bytes of one request to a topic. Brokers refuse batches of more than a megabyte by default. */
const requestBytes = 800_000;

/** Splits records into requests of at most `requestBytes`; a larger record goes alone. */
export function* requestsOf(records: readonly OutgoingRecord[]): Generator<OutgoingRecord[]> {
  let request: OutgoingRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = sizeOf(record) + 100;
    if (request.length > 0 && bytes + size > requestBytes) {
      yield request;
      request = [];
      bytes = 0;
    }
    request.push(record);
    bytes += size;
  }
  if (request.length > 0) yield request;
}
