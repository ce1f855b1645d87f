import { httpError } from "../../errors/http-error.js";
import { problemResponse } from "../../errors/pages/problem.js";
import type { Host } from "../../feature/host.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { http2Streams } from "../../server/http2/streams.js";
import type { ListenAddress } from "../../server/transport.js";
import type { GrpcConfig } from "./config.js";
import type { DeclaredService } from "./declared-service.js";
import { Listener } from "./server/listener.js";
import { Methods } from "./server/methods.js";
import { nativeHandler } from "./server/native-handler.js";
import { bindMethods, unknownMethod } from "./services/bind.js";
import { HealthService } from "./services/health.js";
import { reflectionMethods } from "./services/reflection.js";
import { describe, registryOf } from "./services/registry.js";

/** The gRPC server of an application that has been started. */
export interface RunningGrpc {
  listen(): Promise<ListenAddress>;
  /** Refuses new calls, and waits for those in flight. */
  drain(): Promise<void>;
  close(): void;
}

/** The only module that is loaded on demand here: it needs the package @bufbuild/protobuf. */
export async function startGrpc(
  host: Host,
  config: GrpcConfig,
  declared: readonly DeclaredService[],
): Promise<RunningGrpc> {
  const services = declared.map(describe);
  const registry = registryOf(services);
  const mask = config.maskErrors ?? !host.debug;
  const methods = new Methods(host, config, mask);
  for (const service of services) {
    const { guards, inject, timeout } = service.declared;
    for (const method of bindMethods(service, config, registry, host.logger)) {
      methods.add(method, { guards, ...(inject && { inject }), ...(timeout !== undefined && { timeout }) });
    }
  }
  const health = config.health
    ? new HealthService(
        host,
        services.map(({ descriptor }) => descriptor.typeName),
      )
    : null;
  for (const method of health?.methods(config) ?? []) methods.add(method, {}, true);
  if (config.reflection ?? host.env === "development") {
    const names = services.map(({ descriptor }) => descriptor);
    for (const method of reflectionMethods(names, config, health !== null)) methods.add(method, {});
  }
  const unknown = methods.pipeline(unknownMethod(config), {});
  const handler = nativeHandler({
    methods: { byPath: methods.byPath, unknown },
    mask,
    keepaliveInterval: config.keepaliveInterval,
    keepaliveTimeout: config.keepaliveTimeout,
    maxConcurrentStreams: config.maxConcurrentStreams,
    maxMetadataSize: config.maxMetadataSize,
  });
  http2Streams(host).add(handler);
  const dispatch = (request: Request): Response | Promise<Response> =>
    methods.web.get(request.path)?.dispatch(request) ??
    problemResponse(httpError(config.enableWeb ? "NOT_FOUND" : "UNSUPPORTED_MEDIA_TYPE"));
  const listener = new Listener(host, config, handler, dispatch);
  return {
    listen: () => listener.listen(),
    async drain() {
      health?.drain();
      await listener.drain();
    },
    close: () => listener.close(),
  };
}
