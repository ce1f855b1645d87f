import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { ValueError } from "../../../kit/value-error.js";
import { codecOf } from "../codec/codecs.js";
import { StructCodec } from "../codec/struct-codec.js";
import { currentCall } from "../current-call.js";
import type { MethodKind, ServiceLike } from "../descriptors.js";
import { intercept } from "../interceptor.js";
import { Metadata } from "../metadata.js";
import { loadProto } from "../proto/load.js";
import type { CalledMethod } from "./call-attempt.js";
import type { ChannelSettings } from "./channel-options.js";
import type { CallOptions, GrpcClientCall, LooseClientOptions, Outgoing } from "./client-types.js";
import { Connection } from "./connection.js";
import { type Picker, PickFirst } from "./pick-first.js";
import { RoundRobin } from "./round-robin.js";
import { runCall } from "./run-call.js";

/** The part of a channel that needs node:http2 and @bufbuild/protobuf. */
export class Caller {
  readonly #settings: ChannelSettings;
  readonly #picker: Picker;
  readonly #closed = new AbortController();
  /** Descriptors of `.proto` files, by their text or path. */
  readonly #files = new Map<string, ReturnType<typeof loadProto>>();
  readonly #methods = new WeakMap<object, Map<string, CalledMethod>>();
  readonly #struct = new StructCodec();

  constructor(settings: ChannelSettings) {
    this.#settings = settings;
    const connections = settings.urls.map((url) => new Connection(settings, url));
    const { loadBalancingConfig, healthCheckConfig } = settings.serviceConfig;
    this.#picker =
      loadBalancingConfig === "round_robin"
        ? new RoundRobin(connections, { retryDelay: settings.retryDelay, healthOf: healthCheckConfig })
        : new PickFirst(connections);
  }

  method(service: ServiceLike | string, options: LooseClientOptions, name: string, kind: MethodKind): CalledMethod {
    if (typeof service !== "string") return this.#described(service as unknown as DescService, name, kind);
    if (options.proto === undefined) {
      const codec = this.#struct;
      return { service, name, kind, input: codec, output: codec, idempotent: false };
    }
    const { protoPath = [] } = options;
    const key = String(options.proto);
    let file = this.#files.get(key);
    if (file === undefined) {
      file = loadProto(options.proto, typeof protoPath === "string" ? [protoPath] : protoPath);
      this.#files.set(key, file);
    }
    const found = file.services.find(({ typeName }) => typeName === service);
    if (found === undefined) throw new ValueError(`the .proto file has no service ${service}`);
    return this.#described(found, name, kind);
  }

  call(method: CalledMethod, messages: Outgoing<unknown>, options: CallOptions): AsyncIterable<unknown> {
    const { interceptors, metadata: ofChannel } = this.#settings;
    const ofCall = options.metadata instanceof Metadata ? options.metadata : new Metadata(options.metadata);
    const fixed = {
      method,
      settings: this.#settings,
      picker: this.#picker,
      started: performance.now(),
      parent: currentCall(),
      closed: this.#closed.signal,
    };
    if (interceptors.length === 0) return runCall({ ...fixed, messages, options, metadata: [ofChannel, ofCall] });
    const { service, name, kind } = method;
    const metadata = new Metadata([...ofChannel, ...ofCall]);
    const call: GrpcClientCall = { ...options, service, method: name, kind, metadata };
    return intercept(interceptors, call, messages, (given) =>
      runCall({ ...fixed, messages: given, options: call, metadata: [metadata] }),
    );
  }

  close(): void {
    this.#picker.close();
    this.#closed.abort();
  }

  #described(service: DescService, name: string, kind: MethodKind): CalledMethod {
    const known = this.#methods.get(service) ?? new Map<string, CalledMethod>();
    this.#methods.set(service, known);
    let method = known.get(name);
    if (method === undefined) known.set(name, (method = described(service, name)));
    if (method.kind === kind) return method;
    throw new ValueError(`the method ${name} of ${service.typeName} is ${method.kind}, not ${kind}`);
  }
}

function described(service: DescService, name: string): CalledMethod {
  const found = service.methods.find((method: DescMethod) => method.name === name || method.localName === name);
  if (found === undefined) throw new ValueError(`the service ${service.typeName} has no method ${name}`);
  return {
    service: service.typeName,
    name: found.name,
    kind: found.methodKind,
    input: codecOf(found.input),
    output: codecOf(found.output),
    idempotent: found.idempotency !== 0,
  };
}
