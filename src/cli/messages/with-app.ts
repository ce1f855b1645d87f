import { hostOf } from "../../app/app.js";
import { databaseFeature } from "../../engines/db/feature.js";
import { amqpFeature } from "../../engines/messaging/amqp/feature.js";
import { messagingFeature } from "../../engines/messaging/feature.js";
import { logBrokerFeature } from "../../engines/messaging/kafka/feature.js";
import { memoryBrokerFeature } from "../../engines/messaging/memory/feature.js";
import { cloudQueueFeature } from "../../engines/messaging/sqs/feature.js";
import { messagingState } from "../../engines/messaging/state.js";
import type { Host } from "../../feature/host.js";
import { ValueError } from "../../kit/value-error.js";
import { outboxFeature, outboxOf } from "../../patterns/outbox/feature.js";
import { appOption, loadApp, noting } from "../application.js";
import type { OptionSpecs } from "../arguments.js";
import type { CommandCall } from "../command.js";
import { Pile } from "./pile.js";

/** Options of all commands on messages. */
export const appOptions = {
  ...appOption,
  topic: {
    kind: "list",
    value: "TOPIC",
    help: "a topic; may be given several times (all that the application consumes)",
  },
  outbox: { kind: "switch", help: "only messages of the outbox" },
  dead: { kind: "switch", help: "only dead letters" },
  limit: { kind: "number", value: "N", help: "the most dead letters of each topic that are looked at (1000)" },
} as const satisfies OptionSpecs;

type AppCall = CommandCall<typeof appOptions>;

const features = [
  databaseFeature,
  memoryBrokerFeature,
  logBrokerFeature,
  amqpFeature,
  cloudQueueFeature,
  messagingFeature,
  outboxFeature,
];

/**
 * Connects the database and the brokers of the application for a function, and nothing else: no startup hook runs, no
 * message is consumed, and the outbox is not published.
 */
export async function withPile<T>(call: AppCall, run: (pile: Pile) => Promise<T>): Promise<T> {
  const { options, terminal } = call;
  if (options.outbox && options.dead) throw new ValueError("--outbox and --dead: give one of them");
  const app = await loadApp(call);
  const host = hostOf(app);
  app.logger = noting(terminal.note);
  const opened: (typeof features)[number][] = [];
  try {
    for (const feature of features) await feature.prepare?.(host);
    for (const feature of features) {
      opened.push(feature);
      await feature.open?.(host);
    }
    return await run(await pileOf(host, call));
  } finally {
    for (const feature of opened.reverse()) await feature.close?.(host);
  }
}

async function pileOf(host: Host, { options, terminal }: AppCall): Promise<Pile> {
  const { messaging, definitions } = messagingState(host);
  if (messaging === null)
    throw new ValueError("the application has no broker: it needs enableMemoryBroker() or another");
  if (messaging.brokers.includes("memory") && !options.outbox) {
    terminal.note("messages of the memory broker are in the process of the application: they cannot be seen here");
  }
  const wanted = options.topic === undefined && !options.outbox ? definitions : [];
  const consumed = await Promise.all(wanted.map(({ topic, options }) => messaging.topicsOf(topic, options)));
  return new Pile({
    deadLetters: options.outbox ? null : messaging.deadLetters,
    outbox: options.dead ? null : (outboxOf(host)?.admin ?? null),
    topics: options.topic ?? [...new Set(consumed.flat())],
    onlyTopics: options.topic !== undefined,
    limit: options.limit ?? 1000,
  });
}
