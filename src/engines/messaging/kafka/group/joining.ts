import type {
  KafkaAddress,
  KafkaClientConsumer,
  KafkaConnectionPool,
  KafkaGroupApi,
  KafkaJoinApi,
  KafkaLibrary,
  KafkaMetadata,
} from "../library.js";
import { assignPartitions, type Share } from "./assigner.js";
import { readSubscription, type Subscription, type TopicPartitions, writeSubscription } from "./subscription.js";

/** Members keep the partitions that do not move, and the group is shared twice if some do: KIP-429. */
const cooperative = "cooperative-sticky";
/** Members stop the work of all partitions before they join. Earlier versions of Stoa know this one alone. */
const eager = "roundrobin";

const stay = (_connection: unknown, _group: string, _members: unknown, ended: (error: null) => void) => ended(null);

/**
 * The part of a consumer in the sharing of its group: it names its partitions when it joins, and shares those of all if it
 * leads the group. The broker chooses a protocol that all members know. The library knows one only, and joins in the turn in
 * which it hears of a change.
 */
export class Joining {
  /** True if the members of the group keep partitions while it is shared. */
  isCooperative = false;
  /** The partitions that the consumer has named as its own. */
  announced: readonly TopicPartitions[] = [];
  #watch: NodeJS.Timeout | undefined;
  /** The time of the last response except those to heartbeats, in milliseconds. */
  #lastAnswer = Date.now();
  #consumer: KafkaClientConsumer | null = null;
  #pool: KafkaConnectionPool | null = null;
  /** The last sign of life besides heartbeats, which pause while the consumer joins; in milliseconds. */
  #lastSign = 0;
  #members: ReadonlyMap<string, Subscription> = new Map();
  #memberId: string | null = null;
  #generation = -1;
  /** True if the consumer took part in each sharing since it got its partitions: no other consumer can have had them. */
  #isContinuous = false;
  /** False from the response to a request until the share of it has arrived. */
  #isShared = true;

  /**
   * `before` is called before each request, and waited for; with false if the group does not know the consumer any more. `silent`
   * is called when neither a heartbeat nor a request got a response for longer than any of them may take.
   */
  constructor(
    private readonly before: (isMember: boolean) => Promise<void>,
    private readonly sessionTimeout: number,
    private readonly silent: () => void,
  ) {}

  /** A process that was paused for longer than its session has lost its partitions, though it does not know it yet. */
  get isAlive(): boolean {
    const last = Math.max(this.#lastSign, this.#consumer?.lastHeartbeat?.getTime() ?? 0);
    return last === 0 || Date.now() - last < this.sessionTimeout;
  }

  /** The group is shared. False if others may have had the partitions of this consumer since the last time. */
  shared(): boolean {
    const was = this.#isContinuous;
    this.#isContinuous = true;
    this.#isShared = true;
    return was;
  }

  share({ topics }: KafkaMetadata): Share[] {
    return assignPartitions(this.#members, (topic) => topics.get(topic)?.partitionsCount ?? 0, this.isCooperative);
  }

  /**
   * Takes part in the requests of a consumer. Those that wait for other members use the connections of `pool`, for `patience`
   * milliseconds at most.
   */
  attach(
    { kGetApi }: KafkaLibrary,
    consumer: KafkaClientConsumer,
    pool: KafkaConnectionPool,
    patience: number,
    isStatic = false,
  ): void {
    this.#consumer = consumer;
    this.#pool = pool;
    // The library can forget a request whose connection ends before it is sent. The timer keeps the process, too: a program
    // that does nothing but consume would end while it has no connection.
    this.#watch = setInterval(() => {
      const last = Math.max(this.#lastAnswer, consumer.lastHeartbeat?.getTime() ?? 0);
      if (Date.now() - last > patience + this.sessionTimeout) this.silent();
    }, this.sessionTimeout);
    const getApi = consumer[kGetApi]!;
    const apis: Readonly<Record<string, (api: never) => unknown>> = {
      JoinGroup: (api: KafkaJoinApi) => this.#over(consumer, this.#waiting(api)),
      SyncGroup: (api: KafkaGroupApi) => this.#waiting(api),
      // A static member stays one when it ends: it comes back, or its session ends.
      ...(isStatic && { LeaveGroup: () => stay }),
    };
    consumer[kGetApi] = (name, found) => {
      const over = apis[name];
      if (over === undefined) getApi.call(consumer, name, found);
      else getApi.call(consumer, name, (error, api) => found(error, api && (over(api as never) as typeof api)));
    };
  }

  /** Ends the connections. Requests that are under way fail. */
  close(): void {
    clearInterval(this.#watch);
    this.#pool?.close().catch(() => {});
  }

  /**
   * A request to which the broker responds when all members have sent theirs. Until then it sends nothing else on that
   * connection, and keeps the member without heartbeats.
   */
  #waiting<Api extends KafkaGroupApi>(api: Api): Api {
    return ((connection: KafkaAddress, ...request: unknown[]) => {
      const ended = request.pop() as (error: Error | null, response?: unknown) => void;
      // A pause of the process shows as a gap: the broker may have responded in between, and dropped the member since.
      const signs = setInterval(() => this.#sign(this.isAlive), this.sessionTimeout / 10).unref();
      const answered: typeof ended = (error, response) => {
        clearInterval(signs);
        this.#lastAnswer = Date.now();
        this.#sign(!error);
        ended(error, response);
      };
      this.#sign(this.isAlive);
      const send = api as unknown as (...parts: unknown[]) => void;
      this.#pool!.get(connection).then((own) => send(own, ...request, answered), answered);
    }) as unknown as Api;
  }

  #sign(isAlive: boolean): void {
    if (isAlive) this.#lastSign = Date.now();
  }

  #over(consumer: KafkaClientConsumer, join: KafkaJoinApi): KafkaJoinApi {
    return (
      connection,
      group,
      sessionTimeout,
      rebalanceTimeout,
      memberId,
      instance,
      type,
      _protocols,
      reason,
      ended,
    ) => {
      const isMember = memberId === this.#memberId;
      const send = () => {
        // In a group that is not cooperative, a share that did not arrive may have given them to others.
        this.#isContinuous &&= isMember && (this.#isShared || this.isCooperative);
        this.announced = this.#isContinuous ? (consumer.assignments ?? []) : [];
        const generation = this.#isContinuous ? this.#generation : -1;
        const metadata = writeSubscription({ topics: consumer.topics.current, owned: this.announced, generation });
        const protocols = [cooperative, eager].map((name) => ({ name, metadata }));
        const answered: typeof ended = (error, response) => {
          if (!response) {
            ended(error);
            return;
          }
          this.#isContinuous &&= response.generationId === this.#generation + 1;
          this.#isShared = false;
          this.#memberId = response.memberId;
          this.#generation = response.generationId;
          this.isCooperative = response.protocolName === cooperative;
          this.#members = new Map(response.members.map((each) => [each.memberId, readSubscription(each.metadata)]));
          // The library throws in an event of the socket if it cannot read one: that would end the process.
          const members = [...this.#members].map(([id, read]) => ({ memberId: id, metadata: writeSubscription(read) }));
          ended(error, { ...response, members });
        };
        join(
          connection,
          group,
          sessionTimeout,
          rebalanceTimeout,
          memberId,
          instance,
          type,
          protocols,
          reason,
          answered,
        );
      };
      this.before(isMember).then(send, ended);
    };
  }
}
