import { access } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { App, hostOf } from "../../app/app.js";
import { databaseFeature } from "../../engines/db/feature.js";
import { amqpFeature } from "../../engines/messaging/amqp/feature.js";
import { messagingFeature } from "../../engines/messaging/feature.js";
import { logBrokerFeature } from "../../engines/messaging/kafka/feature.js";
import { memoryBrokerFeature } from "../../engines/messaging/memory/feature.js";
import { cloudQueueFeature } from "../../engines/messaging/sqs/feature.js";
import { messagingState } from "../../engines/messaging/state.js";
import type { Host } from "../../feature/host.js";
import type { Logger } from "../../internal/logger.js";
import { ValueError } from "../../internal/value-error.js";
import { exportsOf, importModule } from "../../migrations/import-module.js";
import { outboxFeature, outboxOf } from "../../patterns/outbox/feature.js";
import type { OptionSpecs } from "../arguments.js";
import type { CommandCall } from "../command.js";
import { loadConfig } from "../config.js";
import { failureLine } from "../failure.js";
import { configOption } from "../project.js";
import type { Terminal } from "../terminal.js";
import { Pile } from "./pile.js";

/** Options of all commands on messages. */
export const appOptions = {
  app: { kind: "text", value: "FILE", help: "the module that exports the application (`app` in stoa.config.ts)" },
  ...configOption,
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
  app.logger = noting(terminal);
  const opened: (typeof features)[number][] = [];
  try {
    for (const feature of features) await feature.prepare?.(host);
    for (const feature of features) {
      opened.push(feature);
      await feature.open?.(host);
    }
    return await run(pileOf(host, call));
  } finally {
    for (const feature of opened.reverse()) await feature.close?.(host);
  }
}

async function loadApp({ options, cwd }: AppCall): Promise<App> {
  const { config, file } = await loadConfig(cwd, options.config);
  const given = options.app ?? config.app;
  if (given === undefined) throw new ValueError("no application: give --app FILE, or name it in stoa.config.ts");
  const path = resolve(options.app !== undefined || file === null ? cwd : dirname(file), given);
  await access(path).catch(() => {
    throw new ValueError(`the module of the application ${path} is not there`);
  });
  const module = exportsOf(await importModule(path));
  const found = module["app"] ?? module["default"];
  const app: unknown = typeof found === "function" ? await found() : found;
  if (!(app instanceof App)) {
    throw new ValueError(
      `${path} exports no application: an App, or a function that makes one, as 'app' or by default`,
    );
  }
  if (hostOf(app).phase !== "new") {
    throw new ValueError(`${path} starts the application: export it from a module that does not call app.run()`);
  }
  return app;
}

function pileOf(host: Host, { options, terminal }: AppCall): Pile {
  const { messaging, definitions } = messagingState(host);
  if (messaging === null)
    throw new ValueError("the application has no broker: it needs enableMemoryBroker() or another");
  if (messaging.brokers.includes("memory") && !options.outbox) {
    terminal.note("messages of the memory broker are in the process of the application: they cannot be seen here");
  }
  return new Pile({
    deadLetters: options.outbox ? null : messaging.deadLetters,
    outbox: options.dead ? null : (outboxOf(host)?.admin ?? null),
    topics: options.topic ?? [...new Set(definitions.map(({ topic }) => topic.name))],
    onlyTopics: options.topic !== undefined,
    limit: options.limit ?? 1000,
  });
}

/** Warnings go to standard error; the rest is of no interest here. */
function noting(terminal: Terminal): Logger {
  const note = (message: string, fields: { readonly error?: unknown } = {}): void =>
    terminal.note(fields.error === undefined ? message : `${message}: ${failureLine(fields.error)}`);
  const logger: Logger = { debug() {}, info() {}, warn: note, error: note, child: () => logger };
  return logger;
}
