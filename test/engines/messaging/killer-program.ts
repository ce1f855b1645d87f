/**
 * A worker whose handler ends its process when it gets the value "kill": `killer-program.ts '<json of KillerSettings>'`. It
 * prints the value of each message that it has handled.
 */
import { createKafkaBroker, openMessaging } from "../../../src/entry/messaging.js";

export interface KillerSettings {
  readonly config: object;
  readonly topic: string;
  readonly options: object;
}

const { config, topic, options } = JSON.parse(process.argv[2]!) as KillerSettings;
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const client = await openMessaging(await createKafkaBroker(config as never), { logger: quiet });
const handle = async (values: readonly unknown[]): Promise<void> => {
  if (values.includes("kill")) process.kill(process.pid, "SIGKILL");
  await new Promise((resolve) => setTimeout(resolve, 5));
  for (const value of values) process.stdout.write(`${value}\n`);
};
await client.subscribe(topic, options as { batch: number }, (given: unknown) =>
  handle((Array.isArray(given) ? given : [given]).map(({ value }: { value: unknown }) => value)),
);
