import type { Database } from "../../../src/engines/db/database.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import type {
  Broker,
  BrokerConsumer,
  ConsumeRequest,
  DeliverySink,
  OutgoingRecord,
} from "../../../src/engines/messaging/broker.js";

/** The table that stands for the broker. A row is delivered again if nobody has acknowledged it within five seconds. */
export const wireTable = `create table wire (
  n bigint generated always as identity primary key, sender int not null, topic text not null, id text not null, key text,
  headers json not null, body text not null, acked boolean not null default false, claimed_until timestamptz not null default '-infinity');
  create index on wire (n) where not acked`;

interface WireRow {
  readonly n: number;
  readonly id: string;
  readonly key: string | null;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A broker that several processes share: a table. It shows who has published what, in which order. */
export class TableBroker implements Broker {
  readonly name = "memory";
  readonly abilities = { maxDelayMs: 0, broadcast: false, seek: false, maxBytes: 1_000_000 };
  readonly defaultGroup = "stoa";
  readonly defaultPrefetch = null;
  readonly #url: string;
  #db: Database | null = null;

  constructor(url: string) {
    this.#url = url;
  }

  async open(): Promise<void> {
    this.#db = await openDatabase({ url: this.#url, poolSize: 2 });
  }

  async ping(): Promise<void> {
    await this.#db!.ping();
  }

  async publish(records: readonly OutgoingRecord[]) {
    await this.#db!.execute(
      `insert into wire (sender, topic, id, key, headers, body)
       select $1, topic, id, key, headers::json, body
       from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) with ordinality as r (topic, id, key, headers, body, n)
       order by n`,
      [
        process.pid,
        records.map(({ topic }) => topic),
        records.map(({ id }) => id),
        records.map(({ key }) => key),
        records.map(({ headers }) => JSON.stringify(headers)),
        records.map(({ body }) => new TextDecoder().decode(body)),
      ],
    );
    return records.map(() => null);
  }

  async consume({ topic, prefetch }: ConsumeRequest, sink: DeliverySink): Promise<BrokerConsumer> {
    let open = true;
    const poll = async (): Promise<void> => {
      while (open) {
        const rows = await this.#db!.fetch<WireRow>(
          `update wire set claimed_until = clock_timestamp() + interval '5 seconds' where n in (
             select n from wire where topic = $1 and not acked and claimed_until < clock_timestamp()
             order by n limit $2 for update skip locked) returning n, id, key, headers, body`,
          [topic, prefetch],
        ).catch(() => []);
        for (const { n, id, key, headers, body } of rows) {
          const record = { id, key, headers, body: new TextEncoder().encode(body), timestamp: Date.now() };
          const ack = async () => void (await this.#db!.execute("update wire set acked = true where n = $1", [n]));
          sink.deliver({ record, earlier: 0, ack, release: async () => {} });
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    void poll();
    const end = async () => {
      open = false;
    };
    return { pause() {}, resume() {}, stop: end, close: end, lag: async () => null };
  }

  async browse(): Promise<void> {}

  async close(): Promise<void> {
    await this.#db?.close();
  }
}
