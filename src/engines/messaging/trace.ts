import { AsyncLocalStorage } from "node:async_hooks";
import type { Span, Tracer } from "../../kit/tracer.js";
import type { BrokerName, Delivery } from "./broker.js";
import { control, longestHeader } from "./headers.js";

const contextHeaders = ["traceparent", "tracestate", "baggage"] as const;

/** The headers of the message that is being handled, where no tracer keeps the current span. */
const handled = new AsyncLocalStorage<Readonly<Record<string, string>>>();

/**
 * Adds the trace context to the headers of a message that has none: the context of the span that publishes it. Without a span,
 * it is the context of the message that is being handled, so that the trace does not end here.
 */
export function injectTrace(headers: Record<string, string>, span: Span | null): void {
  if (headers.traceparent !== undefined) return;
  const context = span?.headers() ?? handled.getStore();
  if (context === undefined) return;
  for (const name of contextHeaders) {
    const value = context[name];
    if (value !== undefined && isContext(value)) headers[name] = value;
  }
}

/** The message that is handled may be of another program: a context that no header can hold ends here. */
function isContext(value: string): boolean {
  return value.length <= longestHeader && !control.test(value);
}

function hasContext(headers: Readonly<Record<string, string>>): boolean {
  return headers.traceparent !== undefined || headers.tracestate !== undefined || headers.baggage !== undefined;
}

/** Brokers that have another name in OpenTelemetry's conventions for messages. */
const systems: ReadonlyMap<BrokerName, string> = new Map([
  ["amqp", "rabbitmq"],
  ["sqs", "aws_sqs"],
]);

/** The span of messages that are being published. */
export function publishSpan(tracer: Tracer | null, broker: BrokerName, topic: string, count: number): Span | null {
  if (tracer === null) return null;
  const attributes = {
    "messaging.system": systems.get(broker) ?? broker,
    "messaging.operation.name": "publish",
    "messaging.operation.type": "send",
    "messaging.destination.name": topic,
    // By the conventions, a single message has no count.
    "messaging.batch.message_count": count === 1 ? undefined : count,
  };
  return tracer.start(`publish ${topic}`, attributes, { kind: "producer" });
}

/** The consumer of messages, as their span shows it. */
export interface TracedConsumer {
  readonly topic: string;
  readonly broker: { readonly name: BrokerName };
  readonly settings: { readonly group: string };
  readonly tracer: () => Tracer | null;
}

/**
 * Runs the handling of messages in the trace that the headers of the first of them name. The span is linked to the
 * traces of the others. `alone` is the delivery of a message that is handled alone.
 */
export function inTraceOf<T>(
  messages: readonly { readonly headers: Readonly<Record<string, string>> }[],
  { topic, broker, settings, tracer: current }: TracedConsumer,
  alone: Delivery | null,
  run: (span: Span | null) => T,
): T {
  const tracer = current();
  const { headers } = messages[0]!;
  if (tracer === null) {
    // Without a context there is nothing to hand on, and the store makes each promise of the process slower from its first use on.
    if (!hasContext(headers) && handled.getStore() === undefined) return run(null);
    return handled.run(headers, () => run(null));
  }
  const attributes = {
    "messaging.system": systems.get(broker.name) ?? broker.name,
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
    "messaging.destination.name": topic,
    "messaging.consumer.group.name": settings.group,
    "messaging.message.id": alone?.record.id,
    "messaging.batch.message_count": alone === null ? messages.length : undefined,
    ...alone?.spanAttributes,
  };
  const links = messages.slice(1).map((other) => (name: string) => other.headers[name]);
  const options = { kind: "consumer", from: (name: string) => headers[name], links } as const;
  const span = tracer.start(`process ${topic}`, attributes, options);
  return span.run(() => run(span));
}
