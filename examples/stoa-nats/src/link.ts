import { JetStreamApiError, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, errors, nanos } from "@nats-io/transport-node";
import { MessagingError } from "stoa/messaging";
import type { NatsConfig } from "./config.js";

export type Link = Awaited<ReturnType<typeof openLink>>;

/** One connection, which does not reconnect: when it breaks, nothing that was sent on it can overtake what failed. */
export async function openLink({ servers, token, connectTimeout, ackWait, maxAge }: NatsConfig) {
  const timeout = connectTimeout * 1000;
  try {
    const connection = await connect({ servers: [...servers], timeout, reconnect: false, ...(token && { token }) });
    const { streams, consumers } = await jetstreamManager(connection, { timeout });
    const known = new Map<string, Promise<string>>();
    /** The stream that stores a topic; one is created where none does. */
    const find = async (topic: string): Promise<string> => {
      if (/^\.|\.\.|\.$/.test(topic)) throw new MessagingError("UNSUPPORTED", `'${topic}' is no subject of NATS`);
      return streams.find(topic).catch(async (error) => {
        if (!(error instanceof JetStreamApiError && error.status === 404)) throw error;
        const stream = { name: nameOf(topic), subjects: [topic], max_age: nanos(maxAge * 1000) };
        return (await streams.add(stream)).config.name;
      });
    };
    const stream = (topic: string): Promise<string> => {
      const found = known.get(topic) ?? find(topic);
      known.set(topic, found);
      found.catch(() => known.delete(topic));
      return found;
    };
    return { connection, js: jetstream(connection), streams, consumers, stream, timeout, ackWait: ackWait * 1000 };
  } catch (cause) {
    const message = `NATS at ${servers.join(", ")} is unreachable: ${(cause as Error).message}`;
    throw new MessagingError("UNREACHABLE", message, { cause });
  }
}

/** Names of streams and consumers have no dots; names of topics and groups have no tildes. */
export function nameOf(text: string): string {
  return text.replaceAll(".", "~");
}

const { ClosedConnectionError, DrainingConnectionError, NoRespondersError, RequestError, TimeoutError } = errors;
const gone = [ClosedConnectionError, DrainingConnectionError, NoRespondersError, RequestError, TimeoutError];

export function translated(cause: unknown): MessagingError {
  if (cause instanceof MessagingError) return cause;
  const code = gone.some((kind) => cause instanceof kind) ? "UNREACHABLE" : "REFUSED";
  return new MessagingError(code, `NATS: ${(cause as Error).message}`, { cause });
}
