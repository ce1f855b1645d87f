import type { Logger } from "../../internal/logger.js";
import type { AggregateClass, AnyAggregate } from "./aggregate.js";
import { expectedNumber, readEvents } from "./append-input.js";
import { noteAppend } from "./cause.js";
import type { EventSourcingConfig } from "./config.js";
import type { Decider } from "./decider.js";
import { ConcurrencyError, EventIdError } from "./errors.js";
import type { EventMap, NewEvent } from "./event.js";
import { checkName } from "./names.js";
import type { AppendOptions, AppendResult } from "./options.js";
import { AggregateWork, DeciderWork, type RepositorySource } from "./repository-work.js";
import { Snapshots } from "./snapshots.js";
import type { EventStorage } from "./storage.js";
import type { Upcasters } from "./upcasters.js";

/** The parts of the event store that need a storage. They are loaded at the start of applications that have enabled it. */
export class OpenedStore implements RepositorySource {
  constructor(
    readonly storage: EventStorage,
    readonly config: EventSourcingConfig,
    readonly upcasters: Upcasters,
    readonly logger: Logger,
  ) {}

  async append(
    stream: string,
    events: readonly NewEvent[],
    { expectedVersion = "any", metadata, tx }: AppendOptions,
  ): Promise<AppendResult> {
    checkName("a stream", stream);
    const ready = readEvents(events, metadata, this.upcasters);
    const expected = expectedNumber(expectedVersion);
    const { outcome, version, position } = await this.storage.append(stream, expected, ready, tx);
    if (outcome === "conflict") throw new ConcurrencyError(stream, expectedVersion, version);
    if (outcome === "mixed") {
      throw new EventIdError("some of the ids are in the store already, in another stream or with other events");
    }
    noteAppend(position);
    return { version, position, known: outcome === "known" };
  }

  aggregates<A extends AnyAggregate>(type: AggregateClass<A>, category: string): AggregateWork<A> {
    return new AggregateWork(this, type, category);
  }

  decisions<State, Command, Events extends EventMap>(
    decider: Decider<State, Command, Events>,
  ): DeciderWork<State, Command, Events> {
    return new DeciderWork(this, decider);
  }

  snapshots(category: string, version: number): Snapshots {
    const { snapshotInterval: interval, enableSnapshots: enabled } = this.config;
    return new Snapshots(this.storage, { enabled, interval }, this.logger, category, version);
  }
}
