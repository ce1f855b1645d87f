import type { Topic } from "../topic.js";
import type { PublishOptions } from "./outgoing.js";

/** The type of the values that a topic takes. */
export type PublishedValue<T> = T extends Topic<infer In, infer _Out, infer _Reply> ? In : unknown;

/** One message of a batch. */
export interface BatchEntry<Value> extends PublishOptions {
  readonly value: Value;
}

/** The result of a publish. */
export interface Published {
  readonly id: string;
}
