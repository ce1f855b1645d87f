import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { KvCommands } from "./commands/commands.js";
import type { CallOptions, CommandRunner } from "./commands/runner.js";
import { nothing } from "./commands/values.js";
import type { PoolRunner } from "./connection/pool-runner.js";
import { type Argument, invoke } from "./connection/raw-client.js";
import { KvStoreError } from "./errors.js";
import { endWith } from "./trace.js";
import { translateError } from "./translate-error.js";

/** The replies of calls, in their order. */
export type Replies<Calls extends readonly unknown[]> = { -readonly [I in keyof Calls]: Awaited<Calls[I]> };

interface Queued {
  readonly name: string;
  readonly args: readonly Argument[];
  readonly bytes: boolean;
  settle(error: Error | null, reply: unknown): void;
}

/** Collects calls. Their promises settle when the batch has been sent. */
class BatchRunner implements CommandRunner {
  readonly calls: Queued[] = [];
  open = true;

  constructor(
    readonly prefix: string,
    readonly clustered: boolean,
  ) {}

  run<T>(
    name: string,
    args: readonly Argument[],
    read: (reply: unknown) => T,
    { bytes = false, blockMs }: CallOptions = {},
  ): Promise<T> {
    if (!this.open) throw new ValueError("a pipeline or transaction takes calls in its function only");
    if (blockMs !== undefined) throw new ValueError("a call that waits cannot be part of a pipeline or transaction");
    const reply = new Promise<T>((resolve, reject) => {
      const settle = (error: Error | null, value: unknown): void => {
        try {
          if (error !== null) throw error;
          resolve(read(value));
        } catch (failure) {
          reject(failure);
        }
      };
      this.calls.push({ name, args, bytes, settle });
    });
    // Callers may ignore the promise of a call; the batch as a whole rejects in its place.
    reply.catch(nothing);
    return reply;
  }
}

/** Sends calls together, in one round trip. Each stands for itself: an error of one does not undo the others. */
export async function pipeline<const Calls extends readonly unknown[]>(
  runner: PoolRunner,
  collect: (kv: KvCommands) => Calls,
): Promise<Replies<Calls>> {
  const { batch, replies } = collected("pipeline()", runner, collect);
  if (runner.clustered) {
    // Calls to one server are sent together anyway; ioredis would refuse keys of several servers.
    await Promise.all(
      batch.calls.map(({ name, args, bytes, settle }) =>
        runner
          .run(name, args, (reply) => reply, { bytes })
          .then(
            (reply) => settle(null, reply),
            (error: Error) => settle(error, null),
          ),
      ),
    );
    return replies();
  }
  if (batch.calls.length > 0) await exchange(runner, "pipeline", batch.calls);
  return replies();
}

/**
 * Sends calls as one transaction: no other client's call comes between them. In a cluster all keys must be of one slot.
 */
export async function transaction<const Calls extends readonly unknown[]>(
  runner: PoolRunner,
  collect: (kv: KvCommands) => Calls,
): Promise<Replies<Calls>> {
  const { batch, replies } = collected("transaction()", runner, collect, false);
  if (batch.calls.length > 0) await exchange(runner, "transaction", batch.calls);
  return replies();
}

function collected<Calls extends readonly unknown[]>(
  call: string,
  runner: PoolRunner,
  collect: (kv: KvCommands) => Calls,
  clustered = runner.clustered,
): { batch: BatchRunner; replies: () => Promise<Replies<Calls>> } {
  const batch = new BatchRunner(runner.prefix, clustered);
  const calls = collect(new KvCommands(batch));
  batch.open = false;
  if (!Array.isArray(calls)) {
    const hint = '(kv) => [kv.get("a"), kv.incr("b")]';
    throw new ValueError(`${call} takes a function that returns a list of its calls, ${hint}, not ${show(calls)}`);
  }
  return { batch, replies: () => Promise.all(calls) as Promise<Replies<Calls>> };
}

async function exchange(runner: PoolRunner, kind: "pipeline" | "transaction", calls: readonly Queued[]): Promise<void> {
  const span =
    runner.tracer?.startBatch(
      kind,
      calls.map(({ name }) => name),
    ) ?? null;
  const sent = runner.guard(kind, async (link) => {
    const raw = kind === "transaction" ? link.client.multi() : link.client.pipeline();
    for (const { name, args, bytes } of calls) invoke(raw, name, args, bytes);
    const replies = await raw.exec();
    if (replies === null) throw new KvStoreError("REFUSED", "the key-value store did not execute a transaction");
    calls.forEach(({ name, settle }, index) => {
      const [error, reply] = replies[index] ?? [new Error("no reply"), null];
      const failure = error === null ? null : translateError(error, name, "", link.lastError);
      settle(failure, reply);
    });
  });
  if (span !== null) endWith(span, sent);
  await sent;
}
