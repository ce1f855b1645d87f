import { HttpError } from "../../errors/http-error.js";

/** The version that an append expects its stream to have. */
export type ExpectedVersion = "any" | "none" | "exists" | number;

/** The stream has another version than an append expected: another writer has appended. Unhandled, it is a 409. */
export class ConcurrencyError extends HttpError {
  readonly #stream: string;
  /** The number of events that the stream has. */
  readonly actualVersion: number;
  readonly expectedVersion: ExpectedVersion;

  constructor(stream: string, expectedVersion: ExpectedVersion, actualVersion: number) {
    super(409, `the stream has version ${actualVersion}, but ${words(expectedVersion)} was expected`);
    this.#stream = stream;
    this.expectedVersion = expectedVersion;
    this.actualVersion = actualVersion;
  }

  get stream(): string {
    return this.#stream;
  }
}

/** Some of the events have ids that are in the store already, and others have not, or they are in another stream. */
export class EventIdError extends Error {
  override name = "EventIdError";
}

/** An append to a stream that is in the archive. Unhandled, it is a 409. */
export class StreamArchivedError extends HttpError {
  readonly #stream: string;

  constructor(stream: string) {
    super(409, "the stream is in the archive; restore it first");
    this.#stream = stream;
  }

  get stream(): string {
    return this.#stream;
  }
}

/** An aggregate that has no events. Unhandled, it is a 404. */
export class AggregateNotFound extends HttpError {
  constructor(category: string) {
    super(404, `there is no such ${category}`);
  }
}

/** The events of a newer program, or upcasting that failed. */
export class EventVersionError extends Error {
  override name = "EventVersionError";
}

function words(expected: ExpectedVersion): string {
  if (expected === "none" || expected === 0) return "no stream";
  return expected === "exists" ? "a stream" : `version ${expected}`;
}
