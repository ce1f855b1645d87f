import type { Logger } from "../../../kit/logger.js";
import type { Deadlines } from "../../../kit/time/deadlines.js";
import type { Tracer } from "../../../kit/tracer.js";
import type { Broker } from "../broker.js";
import type { Publisher } from "../publish/publisher.js";
import type { InFlightMessage } from "./in-flight-message.js";
import type { Inbox } from "./inbox.js";
import type { ConsumerSettings } from "./options.js";
import type { ProcessedStore } from "./processed.js";

/** The end of a delivery, for metrics. */
export type WorkResult = "done" | "retried" | "requeued" | "rejected" | "dead" | "duplicate" | "released" | "lost";

/** Takes the result of a delivery. Called once for each. */
export type Ended = (inFlight: InFlightMessage, result: WorkResult) => void;

/** The parts of a consumer that the work on its deliveries uses. */
export interface ConsumerContext {
  readonly topic: string;
  readonly settings: ConsumerSettings;
  readonly broker: Broker;
  readonly publisher: Publisher;
  readonly store: ProcessedStore | null;
  readonly inbox: Inbox | null;
  readonly logger: Logger;
  /** The time of handlers. */
  readonly deadlines: Deadlines;
  /** Aborted when the consumer drains. */
  readonly stopping: AbortSignal;
  readonly tracer: () => Tracer | null;
  /** Waits without taking up the room of a handler. */
  readonly withoutSlot: <T>(inFlight: InFlightMessage, wait: () => Promise<T>) => Promise<T>;
  /** Called after each attempt, with the time on the monotonic clock at which it began. */
  readonly attempted: (start: number, ok: boolean) => void;
  /** Called if the work on a delivery itself fails: the broker gets the message back. */
  readonly fault: (inFlight: InFlightMessage, error: unknown) => Promise<WorkResult>;
}
