import { jsonText } from "../../durable/texts.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { currentCause } from "./cause.js";
import type { ExpectedVersion } from "./errors.js";
import type { EventMetadata } from "./event.js";
import { checkName } from "./names.js";
import type { EventToStore, ExpectedNumber } from "./storage/storage.js";
import type { Upcasters } from "./upcasters.js";

/** The most events of one append. */
const mostEvents = 10_000;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

interface GivenEvent {
  readonly type: string;
  readonly data: unknown;
  readonly id?: string | undefined;
  readonly metadata?: EventMetadata | undefined;
}

/** Checks events and makes them fit for a storage. */
export function readEvents(
  given: readonly GivenEvent[],
  shared: EventMetadata | undefined,
  upcasters: Upcasters,
  trace: EventMetadata | null = null,
): EventToStore[] {
  if (given.length === 0) throw new ValueError("append takes at least one event");
  if (given.length > mostEvents) throw new ValueError(`append takes at most ${mostEvents} events, not ${given.length}`);
  const cause = currentCause();
  const inherited = trace === null ? cause : { ...trace, ...cause };
  const ids = new Set<string>();
  return given.map((event, index) => {
    if (typeof event !== "object" || event === null) throw new ValueError(`event ${index} must be an object`);
    const { type, data, metadata } = event;
    checkName("the type of an event", type);
    const id = event.id === undefined ? nodeCrypto().randomUUID() : givenId(event.id, ids);
    const facts = factsOf(id, inherited, shared, metadata);
    return {
      id,
      type,
      schemaVersion: upcasters.current(type),
      data: jsonText(data, "the data of", type),
      metadata: jsonText(facts, "the metadata of", type),
    };
  });
}

function givenId(given: string, others: Set<string>): string {
  const id = String(given).toLowerCase();
  if (!uuid.test(id)) throw new ValueError(`the id of an event must be a UUID, not ${show(given)}`);
  if (others.has(id)) throw new ValueError(`two of the events have the id ${show(id)}`);
  others.add(id);
  return id;
}

/** Metadata of the cause and of the call; the first event of a chain is its own correlation. Undefined values are left out. */
function factsOf(
  id: string,
  inherited: EventMetadata | undefined,
  shared: EventMetadata | undefined,
  own: EventMetadata | undefined,
): EventMetadata {
  const facts: Record<string, unknown> = { correlationId: id };
  for (const metadata of [inherited, shared, own]) {
    for (const name in metadata) if (metadata[name] !== undefined) facts[name] = metadata[name];
  }
  return facts;
}

export function expectedNumber(expected: ExpectedVersion): ExpectedNumber {
  if (expected === "any") return -1;
  if (expected === "exists") return -2;
  return expected === "none" ? 0 : expected;
}
