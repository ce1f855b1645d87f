import type { ConfigOf } from "../../internal/config-of.js";
import { type EitherSpelling, type SnakeCase, snakeCase } from "../../internal/names.js";
import { type Checks, is, readCall } from "../../internal/options.js";
import { readTls, type TlsFields } from "../../server/tls/fields.js";
import type { ListenAddress } from "../../server/transport.js";
import { readAddress } from "./address.js";

export interface GrpcOptions {
  /**
   * The address to listen on. Port 0 takes a free one, and `app.grpc.address` has it. Default `[::]:50051`: all addresses
   * of the machine.
   */
  address?: string;
  /** Lets clients read the definitions of the services. Default: true in development, false in production. */
  reflection?: boolean;
  /** Serves gRPC-Web and Connect on the port of the application too. Default false. */
  enableWeb?: boolean;
  /** Serves the health service `grpc.health.v1.Health`. Default true. */
  health?: boolean;
  /** Encrypts the connections at `address`. The fields are those of `tls` of `run`. */
  tls?: TlsFields;
  /** Largest message in bytes that clients may send, after decompression. Default 4,194,304. */
  maxMessageSize?: number;
  /** Largest message in bytes that handlers may send. Default 4,194,304. */
  maxResponseSize?: number;
  /** Compresses responses of 1,024 bytes and more, if the client accepts it. Default false. */
  compression?: boolean;
  /** Calls at the same time on one connection. Default 256. */
  maxConcurrentStreams?: number;
  /** Connections at the same time; further ones are closed. 0 for no limit. Default 0. */
  maxConnections?: number;
  /** Bytes of metadata of one call. Default 16,384. */
  maxMetadataSize?: number;
  /** Seconds without a frame from a client after which it gets a ping; 0 for none. Default 60. */
  keepaliveInterval?: number;
  /** Seconds for the response to a ping, after which the connection is closed. Default 20. */
  keepaliveTimeout?: number;
  /** Seconds for calls in flight to end when the server stops. Default 8. */
  drainTimeout?: number;
  /** Hides the messages of unexpected errors from clients. Default: true, except in debug mode. */
  maskErrors?: boolean;
}

const checks: Checks<GrpcOptions> = {
  address: is.text,
  reflection: is.boolean,
  enableWeb: is.boolean,
  health: is.boolean,
  tls: is.object,
  maxMessageSize: is.integer(1, 0x7fff_ffff),
  maxResponseSize: is.integer(1, 0x7fff_ffff),
  compression: is.boolean,
  maxConcurrentStreams: is.integer(1, 0x7fff_ffff),
  maxConnections: is.integer(0),
  maxMetadataSize: is.integer(1024, 1_048_576),
  keepaliveInterval: is.number(0, 2_147_483),
  keepaliveTimeout: is.number(0.001, 2_147_483),
  drainTimeout: is.number(0, 2_147_483),
  maskErrors: is.boolean,
};

const contractOrder = ["address", "reflection", "enableWeb"] as const;

interface Settings {
  readonly address: string;
  /** Undefined: decided by the environment. */
  readonly reflection: boolean | undefined;
  readonly enableWeb: boolean;
  readonly health: boolean;
  readonly tls: TlsFields | undefined;
  readonly maxMessageSize: number;
  readonly maxResponseSize: number;
  readonly compression: boolean;
  readonly maxConcurrentStreams: number;
  readonly maxConnections: number;
  readonly maxMetadataSize: number;
  readonly keepaliveInterval: number;
  readonly keepaliveTimeout: number;
  readonly drainTimeout: number;
  readonly maskErrors: boolean | undefined;
}

/** The largest message in bytes, unless the application says otherwise: as in other implementations of gRPC. */
export const defaultMessageSize = 4_194_304;

/** The settings of the gRPC server. */
export class GrpcConfig {
  /** @internal */
  readonly listen: ListenAddress;

  constructor(
    ...given: [
      addressOrOptions?: string | EitherSpelling<GrpcOptions> | null,
      reflection?: boolean | null,
      enableWeb?: boolean | null,
    ]
  ) {
    const options = readCall<GrpcOptions>("GrpcConfig", given, contractOrder, checks);
    const settings: Settings = {
      address: options.address ?? "[::]:50051",
      reflection: options.reflection,
      enableWeb: options.enableWeb ?? false,
      health: options.health ?? true,
      tls: options.tls === undefined ? undefined : readTls(options.tls),
      maxMessageSize: options.maxMessageSize ?? defaultMessageSize,
      maxResponseSize: options.maxResponseSize ?? defaultMessageSize,
      compression: options.compression ?? false,
      maxConcurrentStreams: options.maxConcurrentStreams ?? 256,
      maxConnections: options.maxConnections ?? 0,
      maxMetadataSize: options.maxMetadataSize ?? 16_384,
      keepaliveInterval: options.keepaliveInterval ?? 60,
      keepaliveTimeout: options.keepaliveTimeout ?? 20,
      drainTimeout: options.drainTimeout ?? 8,
      maskErrors: options.maskErrors,
    };
    Object.assign(this, settings);
    this.listen = readAddress("GrpcConfig", settings.address);
  }
}
export interface GrpcConfig extends Settings, Readonly<SnakeFields>, ConfigOf<"GrpcConfig"> {}

type SnakeFields = { [K in keyof Settings as SnakeCase<K>]: Settings[K] };

for (const name of Object.keys(checks) as (keyof Settings)[]) {
  const contract = snakeCase(name);
  if (contract === name) continue;
  Object.defineProperty(GrpcConfig.prototype, contract, {
    get(this: GrpcConfig) {
      return this[name];
    },
  });
}
