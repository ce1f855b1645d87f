import type { Transaction } from "../../db/database.js";
import type { AttemptResult, Outcome } from "./outcome.js";

/** Stores the ids of handled messages in the transaction of their effect. Implemented in patterns/outbox. */
export interface Inbox {
  /** Makes the inbox ready for use. Called before each consumer starts. */
  open(): Promise<void>;
  /** Runs a handler in a transaction that also stores the id. Rolled back unless the message was handled. */
  handle(claim: InboxClaim, run: (tx: Transaction) => Promise<Outcome>): Promise<AttemptResult>;
}

export interface InboxClaim {
  /** The group and topic of the consumer. */
  readonly consumer: string;
  readonly id: string;
  /** Milliseconds that the handler may take; 0 for no limit. */
  readonly timeout: number;
}
