import type { Host } from "../../feature/host.js";
import { ValueError } from "../../kit/value-error.js";
import type { McpConfig } from "./config.js";
import {
  type DeclaredPrompt,
  type DeclaredResource,
  type DeclaredTool,
  readPrompt,
  readResource,
  readTool,
} from "./declared.js";
import type { RunningMcp } from "./start.js";

/** The MCP endpoint of one application, before and after its start. */
export class McpHandle {
  config: McpConfig | null = null;
  readonly #host: Host;
  readonly #tools: DeclaredTool[] = [];
  readonly #resources: DeclaredResource[] = [];
  readonly #prompts: DeclaredPrompt[] = [];
  #running: RunningMcp | null = null;

  constructor(host: Host) {
    this.#host = host;
  }

  get path(): string | null {
    return this.config?.path ?? null;
  }

  tool(given: readonly unknown[]): void {
    this.#tools.push(readTool(given));
  }

  resource(given: readonly unknown[]): void {
    this.#resources.push(readResource(given));
  }

  prompt(given: readonly unknown[]): void {
    this.#prompts.push(readPrompt(given));
  }

  updated(uri: string): void {
    if (this.#running === null) throw new Error("app.mcp.updated() works when an application with MCP has started");
    this.#running.updated(uri);
  }

  async prepare(): Promise<void> {
    const declared = { tools: this.#tools, resources: this.#resources, prompts: this.#prompts };
    if (this.config !== null) {
      const { startMcp } = await import("./start.js");
      this.#running = await startMcp(this.#host, this.config, declared);
      return;
    }
    const route = this.#host.routes.find(({ options }) => options.mcp);
    if (route !== undefined) throw new ValueError(`option 'mcp' of the route ${route.path} needs app.enableMcp()`);
    if (Object.values(declared).some((list) => list.length > 0)) {
      throw new ValueError("the application has tools, resources or prompts, but app.enableMcp() was not called");
    }
  }

  listen(): void {
    this.#running?.listen();
  }

  drain(): void {
    this.#running?.drain();
  }
}
