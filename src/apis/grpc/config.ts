import { config, type OptionsOf, option } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { tlsOption } from "../../server/tls/fields.js";
import type { ListenAddress } from "../../server/transport.js";
import { defaultPort, readAddress } from "./address.js";
import type { GrpcCall } from "./grpc-call.js";
import type { GrpcInterceptor } from "./interceptor.js";

/** The largest message in bytes, unless the application says otherwise: as in other implementations of gRPC. */
export const defaultMessageSize = 4_194_304;

const GrpcSettings = config(
  "GrpcConfig",
  {
    /**
     * The address to listen on. Port 0 takes a free one, and `app.grpc.address` has it. Default: port 50051, in development
     * at the host of `run`, else at all addresses of the machine (`[::]:50051`).
     */
    address: option(is.text, `[::]:${defaultPort}`),
    /** Lets clients read the definitions of the services. Default: true in development, false in production. */
    reflection: option(is.boolean),
    /** Serves gRPC-Web and Connect on the port of the application too. Default false. */
    enableWeb: option(is.boolean, false),
    /** Serves the health service `grpc.health.v1.Health`. Default true. */
    health: option(is.boolean, true),
    /** Encrypts the connections at `address`. The fields are those of `tls` of `run`. */
    tls: tlsOption,
    /** Largest message in bytes that clients may send, after decompression. Default 4,194,304. */
    maxMessageSize: option(is.integer(1, 0x7fff_ffff), defaultMessageSize),
    /** Largest message in bytes that handlers may send. Default 4,194,304. */
    maxResponseSize: option(is.integer(1, 0x7fff_ffff), defaultMessageSize),
    /** Compresses responses of 1,024 bytes and more, if the client accepts it. Default false. */
    compression: option(is.boolean, false),
    /** Calls at the same time on one connection. Default 256. */
    maxConcurrentStreams: option(is.integer(1, 0x7fff_ffff), 256),
    /** Connections at the same time; further ones are closed. 0 for no limit. Default 0. */
    maxConnections: option(is.integer(0), 0),
    /** Bytes of metadata of one call. Default 16,384. */
    maxMetadataSize: option(is.integer(1024, 1_048_576), 16_384),
    /** Time without a frame from a client after which it gets a ping; 0 for none. Default 1 minute. */
    keepaliveInterval: option.duration("1m", 0, "24d"),
    /** Time for the response to a ping, after which the connection is closed. Default 20 seconds. */
    keepaliveTimeout: option.duration("20s", "1ms", "24d"),
    /** Time for calls in flight to end when the server stops. Default 8 seconds. */
    drainTimeout: option.duration("8s", 0, "24d"),
    /** Functions around the handlers of all services; the first is the outermost. They see the messages. Default none. */
    interceptors: option<readonly GrpcInterceptor<GrpcCall>[]>(is.list(is.function), []),
    /** Hides the messages of unexpected errors from clients. Default: true, except in debug mode. */
    maskErrors: option(is.boolean),
  },
  {
    order: ["address", "reflection", "enableWeb"],
    idle: ({ keepaliveInterval }) => ({
      keepaliveTimeout: keepaliveInterval === 0 && "keepaliveInterval is 0, so no pings are sent",
    }),
  },
);

export interface GrpcOptions extends OptionsOf<typeof GrpcSettings.options.fields> {}

/** The settings of the gRPC server. */
export class GrpcConfig extends GrpcSettings {
  /** @internal Null if no address was given. */
  readonly listen: ListenAddress | null;

  constructor(...given: ConstructorParameters<typeof GrpcSettings>) {
    super(...given);
    const { address } = GrpcSettings.options.readGiven(given);
    this.listen = address === undefined ? null : readAddress("GrpcConfig", address);
  }
}
