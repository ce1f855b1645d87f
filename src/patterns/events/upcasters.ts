import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { EventVersionError } from "./errors.js";
import type { ReplayedEvent } from "./storage/storage.js";

/** Makes the data of one version into the data of the next. It must not depend on anything else. */
export type Upcast = (data: never) => unknown;

/** Makes the personal fields of events readable. */
type Opener = <Event extends ReplayedEvent>(events: Event[]) => Promise<Event[]>;

/** The upcasts of each type. The version of new events is one more than the number of them. */
export class Upcasters {
  readonly #steps = new Map<string, ((data: unknown) => unknown)[]>();
  /** Null where no fields are personal. */
  opener: Opener | null = null;

  add(type: string, fromVersion: number, upcast: Upcast): void {
    if (typeof type !== "string" || type === "")
      throw new ValueError(`upcast takes a type of events, not ${show(type)}`);
    if (typeof upcast !== "function") throw new ValueError(`upcast takes a function, not ${show(upcast)}`);
    const steps = this.#steps.get(type) ?? [];
    if (fromVersion !== steps.length + 1) {
      throw new ValueError(
        `the next upcast of ${show(type)} is from version ${steps.length + 1}, not from ${show(fromVersion)}`,
      );
    }
    steps.push(upcast as (data: unknown) => unknown);
    this.#steps.set(type, steps);
  }

  /** The version in which events of a type are written. */
  current(type: string): number {
    return (this.#steps.get(type)?.length ?? 0) + 1;
  }

  /** Stored events as the program sees them: personal fields readable, data of the newest version. */
  async read<Event extends ReplayedEvent>(events: Event[]): Promise<Event[]> {
    const readable = this.opener === null ? events : await this.opener(events);
    return readable.map((event) => this.apply(event));
  }

  apply<Event extends ReplayedEvent>(event: Event): Event {
    const steps = this.#steps.get(event.type);
    const current = (steps?.length ?? 0) + 1;
    if (event.schemaVersion === current) return event;
    if (event.schemaVersion > current) {
      throw new EventVersionError(
        `an event ${show(event.type)} at position ${event.position} has version ${event.schemaVersion}, ` +
          `and this program knows ${current}: it was written by a newer one`,
      );
    }
    let data: unknown = event.data;
    for (const step of steps!.slice(event.schemaVersion - 1)) data = step(data);
    return { ...event, data, schemaVersion: current };
  }
}
