import { httpError } from "../../errors/http-error.js";
import { deferred } from "../../kit/deferred.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { isRecord } from "../../kit/own-property.js";
import { ValueError } from "../../kit/value-error.js";
import { jsonSchemaOf } from "../../validation/json-schema.js";
import { isStandardSchema, type SchemaOutput, type StandardSchema } from "../../validation/standard-schema.js";
import { block, type ContentBlock } from "./content.js";
import type { Exchange } from "./exchange.js";
import { levels, type McpLevel, notificationText, type Params, type RpcId, type RpcReply } from "./protocol.js";
import type { McpSession } from "./sessions.js";

/** A question to the model of the client. */
export interface SampleRequest {
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: string | ContentBlock }[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly modelPreferences?: object;
  readonly [member: string]: unknown;
}

export interface SampleResult {
  readonly role: string;
  readonly model: string;
  readonly stopReason?: string;
  /** What the client's model said; `content.text` for text. */
  readonly content: { readonly type: string; readonly text?: string; readonly [member: string]: unknown };
}

/** The decision of the user. `content` is present if it is "accept". */
export interface ElicitResult<Content> {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Content;
}

export interface Root {
  readonly uri: string;
  readonly name?: string;
}

/** Waits for the responses of clients to requests of the server. */
export interface Questions {
  ask(id: string, session: string): Promise<RpcReply>;
  drop(id: string): void;
}

/** A call of a client: `request.mcp` in the handlers of tools, resources and prompts, and of routes that are tools. */
export class McpCall {
  /** The name of the tool or prompt, or the URI of the resource. */
  readonly name: string;
  readonly #exchange: Exchange;
  readonly #token: RpcId | undefined;
  readonly #questions: Questions;
  readonly #ended = new Set<(error: unknown) => void>();
  #reason: { readonly error: unknown } | null = null;

  /** @internal */
  constructor(name: string, exchange: Exchange, params: Params, questions: Questions) {
    this.name = name;
    this.#exchange = exchange;
    this.#questions = questions;
    const meta = params["_meta"];
    const token = isRecord(meta) ? meta["progressToken"] : undefined;
    this.#token = typeof token === "string" || typeof token === "number" ? token : undefined;
  }

  /** The id of the client's session; null without one. */
  get sessionId(): string | null {
    return this.#session?.id ?? null;
  }

  get #session(): McpSession | null {
    return this.#exchange.session;
  }

  /** Tells the client how far the call is. Nothing is sent to a client that did not ask for it. */
  progress(progress: number, total?: number, message?: string): void {
    if (this.#token === undefined || this.#reason !== null) return;
    this.#exchange.send(
      notificationText("notifications/progress", { progressToken: this.#token, progress, total, message }),
    );
  }

  /** Sends a message for the log of the client, if it is of the level that the client has set (default "info") or above. */
  log(level: McpLevel, data: unknown, logger?: string): void {
    const least = this.#session?.data.level ?? "info";
    if (this.#reason !== null || levels.indexOf(level) < levels.indexOf(least)) return;
    this.#exchange.send(notificationText("notifications/message", { level, logger, data }));
  }

  /** Asks the model of the client. Throws if the client has none, or the user refuses. */
  async sample(request: SampleRequest): Promise<SampleResult> {
    const messages = request.messages.map(({ role, content }) => ({ role, content: block(content) }));
    return (await this.#ask("sampling", "sampling/createMessage", { ...request, messages })) as SampleResult;
  }

  /**
   * Asks the user for the values of a flat object. A Standard Schema checks them; a JSON Schema is sent as it is. Throws if
   * the client cannot ask.
   */
  async elicit<S extends StandardSchema | Readonly<Record<string, unknown>>>(
    message: string,
    schema: S,
  ): Promise<ElicitResult<S extends StandardSchema ? SchemaOutput<S> : Record<string, unknown>>> {
    type Content = S extends StandardSchema ? SchemaOutput<S> : Record<string, unknown>;
    const isStandard = isStandardSchema(schema);
    const { $schema: _, ...requestedSchema } = (isStandard ? jsonSchemaOf(schema, "input") : schema) ?? {};
    const reply = (await this.#ask("elicitation", "elicitation/create", {
      message,
      requestedSchema,
    })) as ElicitResult<Content>;
    if (!isStandard || reply.action !== "accept") return reply;
    const checked = await schema["~standard"].validate(reply.content);
    if (checked.issues) throw httpError("BAD_REQUEST", "The values that the user gave do not fit the schema.");
    return { action: "accept", content: checked.value as Content };
  }

  /** The folders that the user has opened to servers. */
  async roots(): Promise<readonly Root[]> {
    const { roots } = (await this.#ask("roots", "roots/list", {})) as { roots?: readonly Root[] };
    return roots ?? [];
  }

  /**
   * Ends the connection of a long call; the client comes back for the result after `retry`. Only for clients with a session
   * and the version 2025-11-25 of the protocol; for others nothing happens.
   */
  closeStream(): void {
    this.#exchange.close();
  }

  /** @internal The call is over: questions to the client are given up. */
  end(error: unknown): void {
    this.#reason ??= { error };
    for (const reject of this.#ended) reject(error);
    this.#ended.clear();
  }

  async #ask(capability: "sampling" | "elicitation" | "roots", method: string, params: object): Promise<unknown> {
    const session = this.#session;
    if (session === null || !session.data.can.includes(capability) || !this.#exchange.canStream) {
      throw new ValueError(`the client does not support ${capability}`);
    }
    if (this.#reason !== null) throw this.#reason.error;
    const id = nodeCrypto().randomUUID();
    const reply = this.#questions.ask(id, session.id);
    this.#exchange.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const { promise: over, reject } = deferred<never>();
    this.#ended.add(reject);
    try {
      const { result, error } = await Promise.race([reply, over]);
      if (error !== undefined) throw httpError("BAD_REQUEST", `The client refused ${method}: ${error.message}`);
      if (!isRecord(result)) throw httpError("BAD_REQUEST", `The client sent no result of ${method}.`);
      return result;
    } finally {
      this.#ended.delete(reject);
      this.#questions.drop(id);
    }
  }
}
