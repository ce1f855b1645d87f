import type { Host, HostPipeline, HostRoute } from "../../../feature/host.js";
import type { Request } from "../../../http/request.js";
import type { RpcRoute } from "../../../kit/tracer.js";
import { type BoundMethod, clientStreams } from "../bound-method.js";
import type { GrpcConfig } from "../config.js";
import { webRoute } from "../web/web-endpoint.js";
import { answerCall } from "./endpoint.js";
import type { CallSource } from "./exchange.js";
import { codeOf } from "./outcome.js";

type RouteOptions = NonNullable<HostRoute["options"]>;

/** The methods of all services, each with the pipelines of its calls. */
export class Methods {
  readonly byPath = new Map<string, ServedMethod>();
  /** Calls of gRPC-Web and Connect at the address of the gRPC server. */
  readonly web = new Map<string, HostPipeline>();

  constructor(
    private readonly host: Host,
    private readonly config: GrpcConfig,
    private readonly mask: boolean,
  ) {}

  /** `internal`: for operators, as health probes; no guards and no middleware of the application. */
  add(method: BoundMethod, options: RouteOptions, internal = false): void {
    this.byPath.set(method.path, this.pipeline(method, options, internal));
    if (!this.config.enableWeb) return;
    const bodyLimit = clientStreams(method) ? Number.MAX_SAFE_INTEGER : 2 * method.maxMessageSize + 1024;
    const route = { ...webRoute(method, this.mask, { ...this.#options(method, options), bodyLimit }), internal };
    this.web.set(method.path, this.host.pipeline({ ...route, method: "POST" }));
    this.host.route({ ...route, method: "POST" });
    if (method.idempotent && method.kind === "unary") this.host.route({ ...route, method: "GET" });
  }

  /** A pipeline for calls of gRPC itself. */
  pipeline(method: BoundMethod, options: RouteOptions, internal = false): ServedMethod {
    const pipeline = this.host.pipeline({
      path: method.path,
      method: "POST",
      internal,
      options: this.#options(method, options),
      handler: (request: Request, injected) => answerCall((request.source as CallSource).exchange!, injected),
    });
    return { method, pipeline };
  }

  #options(method: BoundMethod, options: RouteOptions): RouteOptions {
    const timeout = method.kind === "unary" ? this.host.settings.requestTimeout : 0;
    // A response depends on the message, which caches do not look at.
    return { timeout, ...options, stream: true, cache: false, etag: false, ...rpcOf(method) };
  }
}

/** The method for the span of a call. Paths of unknown methods come from clients: their spans name none. */
function rpcOf({ service, name }: BoundMethod): { readonly rpc?: RpcRoute } {
  return service === "" ? {} : { rpc: { system: "grpc", service, method: name, statusOf: codeOf } };
}

/** A method together with the pipeline of its calls. */
export interface ServedMethod {
  readonly method: BoundMethod;
  readonly pipeline: HostPipeline;
}

/** All methods by their paths, and the one that refuses all other paths. */
export interface ServedMethods {
  readonly byPath: ReadonlyMap<string, ServedMethod>;
  readonly unknown: ServedMethod;
}
