import { currentHealth } from "../../../batteries/health/feature.js";
import type { Host } from "../../../feature/host.js";
import { sleep } from "../../../kit/time/within.js";
import type { BoundMethod } from "../bound-method.js";
import type { GrpcConfig } from "../config.js";
import type { GrpcCall } from "../grpc-call.js";
import { GrpcError } from "../grpc-error.js";
import { builtInMethods } from "./built-in.js";

export const healthFile = "grpc/health/v1/health.proto";

export const healthDefinition = `
syntax = "proto3";
package grpc.health.v1;
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse {
  enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
  ServingStatus status = 1;
}
message HealthListRequest {}
message HealthListResponse { map<string, HealthCheckResponse> statuses = 1; }
service Health {
  rpc Check(HealthCheckRequest) returns (HealthCheckResponse);
  rpc List(HealthListRequest) returns (HealthListResponse);
  rpc Watch(HealthCheckRequest) returns (stream HealthCheckResponse);
}
`;

const healthName = "grpc.health.v1.Health";

const serving = 1;
const notServing = 2;
const serviceUnknown = 3;

/** Milliseconds between two looks at the health of the application, for clients that watch it. */
const lookEvery = 5_000;

interface HealthRequest {
  readonly service: string;
}

/** The health service: all services are as well as the application. */
export class HealthService {
  readonly #host: Host;
  readonly #services: ReadonlySet<string>;
  readonly #draining = new AbortController();

  constructor(host: Host, services: readonly string[]) {
    this.#host = host;
    this.#services = new Set(["", ...services, healthName]);
  }

  methods(config: GrpcConfig): BoundMethod[] {
    return builtInMethods(healthFile, healthDefinition, config, {
      Check: (message) => this.#check(message as HealthRequest),
      List: async () => {
        const status = { status: await this.#status() };
        return { statuses: Object.fromEntries([...this.#services].map((name) => [name, status])) };
      },
      Watch: (message, call) => this.#watch(message as HealthRequest, call),
    });
  }

  /** Clients that watch learn that the server goes. */
  drain(): void {
    this.#draining.abort();
  }

  async #check({ service }: HealthRequest): Promise<object> {
    if (!this.#services.has(service)) throw new GrpcError("NOT_FOUND", "the service is unknown");
    return { status: await this.#status() };
  }

  async *#watch({ service }: HealthRequest, { signal }: GrpcCall): AsyncGenerator<object> {
    let last: number | null = null;
    while (!signal.aborted) {
      const status = this.#services.has(service) ? await this.#status() : serviceUnknown;
      if (status !== last) yield { status };
      last = status;
      if (this.#draining.signal.aborted) return;
      await sleep(lookEvery, signal, this.#draining.signal);
    }
  }

  async #status(): Promise<number> {
    const { phase } = this.#host;
    if (this.#draining.signal.aborted || phase === "draining" || phase === "stopped") return notServing;
    const report = await currentHealth(this.#host);
    return report?.status === "DOWN" ? notServing : serving;
  }
}
