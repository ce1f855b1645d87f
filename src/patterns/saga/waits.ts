import { asTopic, type Topic, type ValueSchema } from "../../engines/messaging/topic.js";
import { options as declare, type OptionsOf, option } from "../../kit/config.js";
import { type Check, is, show } from "../../kit/options.js";
import { type Duration, milliseconds } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import type { OutputOf } from "../../validation/body-validator.js";
import { isStandardSchema, type SchemaOutput, type StandardSchema } from "../../validation/standard-schema.js";
import type { EventMap } from "../events/event.js";
import { categoryOfClass, checkName } from "../events/names.js";
import type { EventSource } from "../events/projections/projection.js";
import { checkSagaName, type SagaContext } from "./steps.js";

declare const types: unique symbol;

/** A signal with the type of its value, for its senders and the saga that waits for it. Made by `signal()`. */
export interface Signal<Value = unknown> {
  readonly name: string;
  /** Null if values are not checked. */
  readonly schema: StandardSchema | null;
  readonly [types]?: { readonly value: Value };
}

/** Declares a signal: `signal<{ by: string }>("approved")`, or with a schema that checks its values when it is sent. */
export function signal<Schema extends StandardSchema>(
  name: string,
  options: { readonly schema: Schema },
): Signal<SchemaOutput<Schema>>;
export function signal<Value = unknown>(name: string): Signal<Value>;
export function signal(name: string, options: { readonly schema?: unknown } = {}): Signal<never> {
  checkSagaName("signal", name);
  return Object.freeze({ name, ...signalOptions.read([options], `signal ${show(name)}`) });
}

interface CommonWait {
  /** Time after which the wait is over, by the clock of the database. Default: no limit. */
  readonly timeout?: Duration | undefined;
  /** True if the saga continues with `null` when the time is over. Default false: it is compensated. */
  readonly optional?: boolean | undefined;
}

/** Waits for `app.sagas.signal()`. */
export interface SignalWait extends CommonWait {
  /** Default: a signal with the name of the wait. */
  readonly signal?: Signal | string | undefined;
}

/** Waits for a message of a topic. */
export interface TopicWait<Input, Results> extends CommonWait {
  readonly topic: Topic<never, unknown> | string;
  /** Schema of the value, where the topic has none. */
  readonly schema?: ValueSchema | undefined;
  /** The key of the message that this execution waits for. */
  readonly key: (context: SagaContext<Input, Results>) => string;
  /** The key of a message. Default: `message.key`. */
  readonly keyOf?: ((message: { readonly key: string | null; readonly value: never }) => string | null) | undefined;
}

/** Waits for an event of the event store. */
export interface EventWait<Input, Results> extends CommonWait {
  readonly event: string;
  /** The aggregate of the event, which gives the type of its data. Default: all streams. */
  readonly from?: EventSource | undefined;
  /** The key of the event that this execution waits for. */
  readonly key: (context: SagaContext<Input, Results>) => string;
  /** The key of an event. Default: the name of its stream. */
  readonly keyOf?: ((event: { readonly stream: string; readonly data: never }) => string | null) | undefined;
}

export type WaitOptions<Input, Results> = SignalWait | TopicWait<Input, Results> | EventWait<Input, Results>;

/** The type of the value that a wait ends with. */
export type WaitResult<Options> = WaitValue<Options> | (Options extends { readonly optional: true } ? null : never);

type WaitValue<Options> = Options extends { readonly topic: infer T }
  ? T extends Topic<never, infer Out>
    ? Out
    : Options extends { readonly schema: infer S }
      ? OutputOf<S>
      : unknown
  : Options extends { readonly event: infer Type; readonly from: EventSource<infer Events> }
    ? Type extends keyof Events
      ? Events[Type]
      : unknown
    : Options extends { readonly signal: Signal<infer Value> }
      ? Value
      : unknown;

/** A wait as the driver and the sources see it. */
export interface Wait {
  readonly name: string;
  readonly source:
    | { readonly kind: "signal"; readonly signal: Signal }
    | { readonly kind: "topic"; readonly topic: Topic; readonly schema: ValueSchema | undefined }
    | { readonly kind: "event"; readonly type: string; readonly category: string | undefined };
  readonly key: ((context: SagaContext<never, never>) => unknown) | undefined;
  readonly keyOf: ((message: never) => string | null) | undefined;
  readonly timeoutMs: number | undefined;
  readonly optional: boolean;
}

const isSchema: Check<StandardSchema | null> = (value) =>
  isStandardSchema(value) ? undefined : "a schema (zod, valibot, arktype ...)";

const signalOptions = declare("signal()", { schema: option(isSchema, null) });

const waitOptions = declare("waitFor()", {
  signal: option<Signal | string>(is.either(is.text, is.object)),
  topic: option<Topic | string>(is.either(is.text, is.object)),
  event: option(is.text),
  from: option<EventSource<EventMap>>(is.either(is.function, is.object)),
  schema: option<ValueSchema>(is.anything),
  key: option<NonNullable<Wait["key"]>>(is.function),
  keyOf: option<NonNullable<Wait["keyOf"]>>(is.function),
  timeout: option.duration(null, "1ms"),
  optional: option(is.boolean, false),
});

interface AllOptions extends OptionsOf<typeof waitOptions.fields> {}

export function readWait(name: string, options: unknown): Wait {
  const owner = `wait ${show(name)}`;
  const given = waitOptions.read([options], owner);
  const named = (["signal", "topic", "event"] as const).filter((kind) => given[kind] !== undefined);
  if (named.length > 1)
    throw new ValueError(`${owner} takes one of 'signal', 'topic' and 'event', not ${named.join(" and ")}`);
  const source = sourceOf(name, given);
  if (source.kind === "signal" && (given.key !== undefined || given.keyOf !== undefined)) {
    throw new ValueError(`${owner} has a key: signals are sent to the id of an execution, and have none`);
  }
  if (given.schema !== undefined && source.kind !== "topic") {
    const cure = source.kind === "signal" ? ": a signal has its own, signal(name, { schema })" : "";
    throw new ValueError(`option 'schema' in ${owner} goes with a topic only${cure}`);
  }
  if (given.from !== undefined && source.kind !== "event") {
    throw new ValueError(`option 'from' in ${owner} goes with an event only`);
  }
  if (source.kind !== "signal" && given.key === undefined) {
    throw new ValueError(`option 'key' is required in ${owner}: it selects the ${source.kind} of this execution`);
  }
  const { key, keyOf, timeout, optional } = given;
  return { name, source, key, keyOf, timeoutMs: timeout === undefined ? undefined : milliseconds(timeout), optional };
}

function sourceOf(name: string, { signal: given, topic, event, from, schema }: AllOptions): Wait["source"] {
  if (topic !== undefined) return { kind: "topic", topic: asTopic(topic as Topic<never, unknown>), schema };
  if (event !== undefined) {
    checkName("the type of an event", event);
    return { kind: "event", type: event, category: from && categoryOfClass(from as { name: string }) };
  }
  if (typeof given === "object") return { kind: "signal", signal: signal(given.name, { schema: given.schema! }) };
  return { kind: "signal", signal: signal(given ?? name) };
}
