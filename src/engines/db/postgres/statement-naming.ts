import type { Logger } from "../../../kit/logger.js";

/** Prepared statements that may vanish before names are given up: an application can also deallocate them itself. */
const toleratedLosses = 3;

/**
 * Decides for all connections of a database if statements are prepared under names, and if they are prepared again. A pooler
 * in transaction mode gives each statement another session. Statements of other clients are prepared on it, and ours may not
 * be. Each such surprise costs a repetition, and inside a transaction an error. So statements are then sent without names.
 */
export class StatementNaming {
  disabled = false;
  /** The number of times that a prepared statement was found outdated, because its table has changed. */
  tableChanges = 0;
  #losses = 0;

  constructor(private readonly logger: Logger | undefined) {}

  /** A name was taken by another client, a prepared statement no longer exists, or it may never have been prepared. */
  surprised(by: "taken" | "gone" | "unknown"): void {
    if (by === "gone") this.#losses++;
    if (this.disabled || (by !== "taken" && this.#losses < toleratedLosses)) return;
    this.disabled = true;
    this.logger?.warn(
      "statements are no longer prepared: a pooler in transaction mode shares the sessions of the database with others. " +
        "Set preparedStatements: false, or ?pgbouncer=true in the URL",
    );
  }
}
