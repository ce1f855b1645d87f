import type { Host } from "../../feature/host.js";
import type { EitherSpelling } from "../../kit/names.js";
import { missingPackage } from "../../kit/optional-package.js";
import { ValueError } from "../../kit/value-error.js";
import { showAddress } from "./address.js";
import type { ChannelOptions } from "./client/channel-options.js";
import { GrpcChannel } from "./client/grpc-channel.js";
import type { GrpcConfig } from "./config.js";
import { type DeclaredService, readService } from "./declared-service.js";
import type { RunningGrpc, startGrpc } from "./start.js";

/** The gRPC server of an application, as its users see it. */
export interface GrpcState {
  /** The address that the server listens at, with its real port; null while it does not listen. */
  readonly address: string | null;
  /** The names of all services. */
  readonly services: readonly string[];
}

/** The gRPC server of one application, before and after its start. */
export class GrpcHandle {
  readonly #host: Host;
  readonly #services = new Map<string, DeclaredService>();
  readonly #channels: GrpcChannel[] = [];
  config: GrpcConfig | null = null;
  #running: RunningGrpc | null = null;
  #address: string | null = null;

  constructor(host: Host) {
    this.#host = host;
  }

  get state(): GrpcState {
    return { address: this.#address, services: [...this.#services.keys()] };
  }

  add(given: readonly unknown[]): void {
    const service = readService(given);
    if (this.#services.has(service.name))
      throw new ValueError(`the gRPC service ${service.name} has been added already`);
    this.#services.set(service.name, service);
  }

  channel(target: string | readonly string[], options?: EitherSpelling<ChannelOptions>): GrpcChannel {
    const channel = new GrpcChannel(target, { ...options, tracer: () => this.#host.tracer });
    this.#channels.push(channel);
    return channel;
  }

  async prepare(load: () => Promise<{ startGrpc: typeof startGrpc }> = loadStart): Promise<void> {
    const { config } = this;
    if (config === null) {
      if (this.#services.size === 0) return;
      throw new ValueError("gRPC services were added, but app.enableGrpc() was not called");
    }
    let start: typeof startGrpc;
    try {
      start = (await load()).startGrpc;
    } catch (error) {
      throw missingPackage("@bufbuild/protobuf", "enableGrpc", error, "@2");
    }
    this.#running = await start(this.#host, config, [...this.#services.values()]);
  }

  /** Listens, where `run` serves: not under `fetch` and in tests without a server. */
  async listen(): Promise<void> {
    if (this.#running === null || this.#host.settings.host === undefined) return;
    const address = await this.#running.listen();
    this.#address = showAddress(address);
    this.#host.logger.info(`gRPC at ${this.#address}`);
  }

  async drain(): Promise<void> {
    await this.#running?.drain();
  }

  async close(): Promise<void> {
    this.#running?.close();
    await Promise.all(this.#channels.map((channel) => channel.close()));
  }
}

// Not in feature.ts: the bundler puts everything that features load into one file, and this part needs @bufbuild/protobuf.
const loadStart = () => import("./start.js");
