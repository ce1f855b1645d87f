import type { Inject } from "../../di/depends.js";
import { type Feature, feature } from "../../feature/feature.js";
import { perHost } from "../../feature/host.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import type { ChannelOptions } from "./client/channel-options.js";
import type { GrpcChannel } from "./client/grpc-channel.js";
import { GrpcConfig, type GrpcOptions } from "./config.js";
import type { ServiceLike } from "./descriptors.js";
import { GrpcHandle, type GrpcState } from "./grpc-handle.js";
import type { GrpcHandlers, GrpcServiceOptions, LooseHandlers, LooseServiceOptions } from "./service-types.js";

/** The application itself. Named by a member of it: the type of the application is not known here. */
interface Chained {
  readonly state: object;
}

/** The two forms of `addGrpcService`. */
export interface AddGrpcService {
  /** Registers a service with a generated descriptor (protoc-gen-es): messages and handlers are typed by it. */
  <Self extends Chained, S extends ServiceLike, I extends Inject = Record<never, never>>(
    this: Self,
    service: S,
    methods: GrpcHandlers<S, I>,
    options?: EitherSpelling<GrpcServiceOptions<I>>,
  ): Self;
  /**
   * Registers a service by its name. Its messages are those of a `.proto` file if option `proto` gives one, else
   * `google.protobuf.Struct`: any JSON object. A list of names declares methods without handlers.
   */
  <Self extends Chained, I extends Inject = Record<never, never>>(
    this: Self,
    name: string,
    methods?: LooseHandlers<I> | readonly string[],
    options?: EitherSpelling<LooseServiceOptions<I>>,
  ): Self;
}

export interface GrpcFeature {
  /**
   * Serves gRPC at port 50051, or at the given address, in every worker. With `enableWeb` the services are served to
   * gRPC-Web and Connect clients on the port of the application too.
   */
  enableGrpc(
    addressOrOptions?: string | ConfigOf<"GrpcConfig"> | EitherSpelling<GrpcOptions> | null,
    reflection?: boolean,
    enableWeb?: boolean,
  ): this;
  /** Registers a gRPC service: a generated descriptor, or a name, with the handlers of its methods. */
  readonly addGrpcService: AddGrpcService;
  /** The gRPC server: its address and its services. */
  readonly grpc: GrpcState;
  /** A channel to another gRPC server. Its calls are traced as calls of this application, and it is closed with it. */
  grpcChannel(target: string | readonly string[], options?: EitherSpelling<ChannelOptions>): GrpcChannel;
}

/** The same, without overloads: the contract of features derives the types of its functions from this one. */
interface PlainFace extends Omit<GrpcFeature, "addGrpcService" | "enableGrpc"> {
  enableGrpc(...given: unknown[]): this;
  addGrpcService(...given: unknown[]): this;
}

const handleOf = perHost((host) => new GrpcHandle(host));

const plainFeature = feature<PlainFace>({
  name: "gRPC server",
  setup: {
    enableGrpc(host, ...given) {
      handleOf(host).config = GrpcConfig.from(given);
    },
    addGrpcService(host, ...given) {
      handleOf(host).add(given);
    },
  },
  methods: { grpcChannel: (host, target, options) => handleOf(host).channel(target, options) },
  values: { grpc: (host) => handleOf(host).state },
  prepare: (host) => handleOf(host).prepare(),
  review: (host) => GrpcConfig.options.idle(handleOf(host).config),
  ready: (host) => handleOf(host).listen(),
  drain: (host) => handleOf(host).drain(),
  close: (host) => handleOf(host).close(),
});

export const grpcFeature = plainFeature as unknown as Feature<GrpcFeature>;
