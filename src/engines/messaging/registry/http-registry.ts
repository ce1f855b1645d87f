import { describeError } from "../../../errors/describe.js";
import { boundedFetch } from "../../../kit/bounded-fetch.js";
import { isPlainObject } from "../../../kit/options.js";
import { MessagingError } from "../errors.js";
import type { Registry, SchemaDefinition, SchemaReference } from "./registry.js";

/** Bytes of a response: a schema is smaller. */
const maxBytes = 4 * 1024 * 1024;
const longestReason = 1000;
const contentType = "application/vnd.schemaregistry.v1+json";

interface Reply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A registry with the REST interface of Confluent's. */
export class HttpRegistry implements Registry {
  readonly #base: string;

  /** `timeout` is in milliseconds; `authorization` gives the header field. */
  constructor(
    readonly url: URL,
    private readonly timeout: number,
    private readonly authorization: () => Promise<string | null>,
  ) {
    this.#base = url.href.replace(/\/$/, "");
  }

  async register(subject: string, definition: SchemaDefinition): Promise<number> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions`;
    return this.#id(await this.#call("POST", path, `the subject '${subject}'`, definition));
  }

  async find(subject: string, definition: SchemaDefinition): Promise<{ id: number; version: number } | null> {
    const path = `/subjects/${encodeURIComponent(subject)}`;
    const reply = await this.#call("POST", path, `the subject '${subject}'`, definition, true);
    return reply.status === 404 ? null : { id: this.#id(reply), version: Number(reply.body["version"]) };
  }

  async incompatibility(subject: string, definition: SchemaDefinition): Promise<readonly string[] | null> {
    const path = `/compatibility/subjects/${encodeURIComponent(subject)}/versions/latest?verbose=true`;
    const { status, body } = await this.#call("POST", path, `the subject '${subject}'`, definition, true);
    if (status === 404 || body["is_compatible"] !== false) return null;
    const reasons = Array.isArray(body["messages"]) ? body["messages"] : [];
    return reasons.map((reason) => String(reason).slice(0, longestReason)).slice(0, 10);
  }

  async byId(id: number): Promise<SchemaDefinition> {
    return this.#definition(await this.#call("GET", `/schemas/ids/${id}`, `the schema ${id}`));
  }

  async byVersion(subject: string, version: number): Promise<SchemaDefinition> {
    const path = `/subjects/${encodeURIComponent(subject)}/versions/${version}`;
    return this.#definition(await this.#call("GET", path, `version ${version} of the subject '${subject}'`));
  }

  #id({ body: { id } }: Reply): number {
    if (Number.isSafeInteger(id)) return id as number;
    throw this.#error("UNREACHABLE", "has sent no id");
  }

  #definition({ body }: Reply): SchemaDefinition {
    const { schema, references } = body;
    if (typeof schema !== "string") throw this.#error("UNREACHABLE", "has sent no schema");
    return { schema, references: Array.isArray(references) ? (references as SchemaReference[]) : [] };
  }

  /** Rejects for every error, except for 404 if `optional` is true. */
  async #call(method: string, path: string, what: string, sent?: object, optional = false): Promise<Reply> {
    const { status, body } = await this.#fetch(method, path, sent);
    const reply = isPlainObject(body) ? body : {};
    // A 404 without a code is not the registry's: its path is wrong.
    const isAbsent = optional && status === 404 && typeof reply["error_code"] === "number";
    if (status === 200 || isAbsent) return { status, body: reply };
    const reason = typeof reply["message"] === "string" ? reply["message"].slice(0, longestReason) : `status ${status}`;
    throw this.#error(status < 500 ? "REFUSED" : "UNREACHABLE", `has refused ${what}: ${reason}`);
  }

  async #fetch(method: string, path: string, sent: object | undefined): Promise<{ status: number; body: unknown }> {
    try {
      const authorization = await this.authorization();
      const headers = {
        accept: `${contentType}, application/json`,
        ...(sent !== undefined && { "content-type": contentType }),
        ...(authorization !== null && { authorization }),
      };
      const init = { method, headers, ...(sent !== undefined && { body: JSON.stringify(sent) }) };
      const limits = { timeout: this.timeout, maxBytes };
      const { status, body } = await boundedFetch(new URL(this.#base + path), init, limits);
      return { status, body: asJson(body, status) };
    } catch (error) {
      const { cause } = error as { readonly cause?: unknown };
      throw this.#error("UNREACHABLE", `does not respond: ${describeError(cause ?? error).message}`, error);
    }
  }

  #error(code: "REFUSED" | "UNREACHABLE", text: string, cause?: unknown): MessagingError {
    return new MessagingError(code, `the schema registry at ${this.url.host} ${text}`, { cause });
  }
}

/** A proxy in front of the registry may send errors that are no JSON. */
function asJson(body: Uint8Array, status: number): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch (error) {
    if (status === 200) throw error;
    return null;
  }
}
