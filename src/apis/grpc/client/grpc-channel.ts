import { checkedOptions } from "../../../kit/config.js";
import type { EitherSpelling } from "../../../kit/names.js";
import { missingPackage } from "../../../kit/optional-package.js";
import { is, show } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import { followCalls } from "../current-call.js";
import type { MethodKind, ServiceLike } from "../descriptors.js";
import { onlyMessage } from "../interceptor.js";
import type { Caller } from "./caller.js";
import { type ChannelOptions, type ChannelSettings, readChannelOptions } from "./channel-options.js";
import {
  type CallOptions,
  callOptions,
  type GrpcClient,
  type LooseClient,
  type LooseClientOptions,
  type Outgoing,
} from "./client-types.js";

const readLooseOptions = checkedOptions<LooseClientOptions>({
  proto: (value) =>
    value instanceof URL || (typeof value === "string" && value !== "") ? undefined : "text, a path or a URL",
  protoPath: is.either(is.text, is.strings),
});

/**
 * A channel to a gRPC server: `new GrpcChannel("http://localhost:50051").client(Books).getBook({ id: 7 })`. It connects with
 * the first call, and again when the connection is lost.
 */
export class GrpcChannel {
  readonly #settings: ChannelSettings;
  #caller: Promise<Caller> | null = null;
  #closed = false;

  /** Of several addresses, `loadBalancingConfig` of the service config says which calls go where. */
  constructor(target: string | readonly string[], options?: EitherSpelling<ChannelOptions>) {
    this.#settings = readChannelOptions(target, options);
    followCalls();
  }

  /** A client of a service with a generated descriptor: its methods are typed. */
  client<S extends ServiceLike>(service: S): GrpcClient<S>;
  /** A client of a service by its name. Its messages are JSON objects, unless `proto` defines others. */
  client(name: string, options?: EitherSpelling<LooseClientOptions>): LooseClient;
  client(service: ServiceLike | string, options?: EitherSpelling<LooseClientOptions>): unknown {
    if (typeof service === "string") {
      return this.#loose(service, readLooseOptions("client()", options));
    }
    if ((service as Partial<ServiceLike> | null)?.kind !== "service") {
      throw new ValueError(`client() takes a generated service or a name, not ${show(service)}`);
    }
    const client: Record<string, unknown> = {};
    for (const [name, { methodKind }] of Object.entries(service.method)) {
      client[name] = (input: unknown, call?: CallOptions) => this.#call(service, {}, name, methodKind, input, call);
    }
    return client;
  }

  /** Ends all calls and the connection. */
  async close(): Promise<void> {
    this.#closed = true;
    (await this.#caller?.catch(() => null))?.close();
  }

  #loose(service: string, options: LooseClientOptions): LooseClient {
    const call = (kind: MethodKind) => (method: string, input: unknown, given?: CallOptions) =>
      this.#call(service, options, method, kind, input, given);
    return {
      unary: (method, message = {}, given) => call("unary")(method, message, given) as Promise<never>,
      serverStreaming: (method, message = {}, given) =>
        call("server_streaming")(method, message, given) as AsyncIterableIterator<never>,
      clientStreaming: call("client_streaming") as LooseClient["clientStreaming"],
      bidiStreaming: call("bidi_streaming") as LooseClient["bidiStreaming"],
    };
  }

  #call(
    service: ServiceLike | string,
    options: LooseClientOptions,
    name: string,
    kind: MethodKind,
    input: unknown,
    given?: CallOptions,
  ): unknown {
    const start = async (): Promise<AsyncIterable<unknown>> => {
      // Most calls have none, and some come often.
      const how = given === undefined ? {} : callOptions.readGiven([given]);
      const caller = await this.#connected();
      const messages = kind === "unary" || kind === "server_streaming" ? [input] : (input as Outgoing<unknown>);
      return caller.call(caller.method(service, options, name, kind), messages, how);
    };
    return kind === "unary" || kind === "client_streaming" ? start().then(onlyMessage) : new LazyStream(start);
  }

  #connected(): Promise<Caller> {
    if (this.#closed) return Promise.reject(new ValueError("the gRPC channel has been closed"));
    return (this.#caller ??= loadCaller(this.#settings));
  }
}

async function loadCaller(settings: ChannelSettings): Promise<Caller> {
  try {
    const { Caller: Made } = await import("./caller.js");
    return new Made(settings);
  } catch (error) {
    throw missingPackage("@bufbuild/protobuf", "GrpcChannel", error, "@2");
  }
}

/** A stream of messages that begins with its first use. */
class LazyStream implements AsyncIterableIterator<unknown> {
  #messages: Promise<AsyncIterator<unknown>> | null = null;
  #ended = false;

  constructor(private readonly start: () => Promise<AsyncIterable<unknown>>) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<unknown>> {
    if (this.#ended) return { done: true, value: undefined };
    this.#messages ??= this.start().then((messages) => messages[Symbol.asyncIterator]());
    return (await this.#messages).next();
  }

  async return(): Promise<IteratorResult<unknown>> {
    this.#ended = true;
    const messages = await this.#messages?.catch(() => null);
    await messages?.return?.();
    return { done: true, value: undefined };
  }
}
