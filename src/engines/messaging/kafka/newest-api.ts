import { MessagingError } from "../errors.js";
import type { KafkaClientConsumer } from "./library.js";

/** The newest version of an API that the broker and the program know. `versions` has the newest first. */
export async function newestApi<Api>(
  consumer: KafkaClientConsumer,
  name: string,
  versions: readonly (readonly [number, Api])[],
): Promise<{ readonly version: number; readonly api: Api }> {
  const found = (await consumer.listApis()).find((each) => each.name === name);
  for (const [version, api] of versions) {
    if (found !== undefined && found.minVersion <= version && version <= found.maxVersion) return { version, api };
  }
  throw new MessagingError("REFUSED", `the broker is too old: it has no version of the API ${name} that is known here`);
}
