import { config, type OptionsOf, option, options } from "../../../kit/config.js";
import type { EitherSpelling } from "../../../kit/names.js";
import { inspectSymbol } from "../../../kit/node-modules.js";
import { type Check, is, show } from "../../../kit/options.js";
import type { MessageInput, MessageLike, MessageOf } from "../../../kit/protobuf/message-types.js";
import { ValueError } from "../../../kit/value-error.js";
import type { OutputOf } from "../../../validation/body-validator.js";
import type { StandardSchema } from "../../../validation/standard-schema.js";
import { codecOf } from "../codec.js";
import type { InputOf, Topic, ValueSchema } from "../topic.js";
import type { Format } from "./format.js";
import { HttpRegistry } from "./http-registry.js";
import { MemoryRegistry } from "./memory-registry.js";
import type { Registry } from "./registry.js";
import { RegistryCodec, registrySchema } from "./registry-codec.js";

const authOptions = options("option 'auth' of SchemaRegistry", {
  /** The name of the user. */
  username: option(is.text),
  /** The password of the user. */
  password: option.secret(is.text),
  /** A bearer token, or a function that gives one: it is called for each request. Not with a username. */
  token: option.secret<Token>(is.either<[string, TokenSource]>(is.text, is.function)),
});

type TokenSource = () => string | Promise<string>;
type Token = string | TokenSource;

/** The login to a schema registry. */
export interface SchemaRegistryAuth extends OptionsOf<typeof authOptions.fields> {}

const isUrl: Check<string> = (value) => {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : null;
  const fits = url !== null && ["http:", "https:", "memory:"].includes(url.protocol) && url.username === "";
  return fits ? undefined : "a URL of http:, https: or memory: without a user; see 'auth'";
};

/** The subject of a topic. */
type SubjectOf = (topic: string, record: string | null) => string;

const fields = {
  /** The address of the registry. `memory:` is one in the memory of the process, which takes every schema. */
  url: option.required(isUrl),
  /** The login: `{ username, password }` or `{ token }`. Default none. */
  auth: option.secret<EitherSpelling<SchemaRegistryAuth>, SchemaRegistryAuth | null>(is.object, readAuth, null),
  /** Registers the schema of a topic when it is first published. False only looks it up. Default true. */
  autoRegister: option(is.boolean, true),
  /** The subject of a topic and the name of its record. Default: `<topic>-value`. */
  subject: option<SubjectOf>(is.function, (topic) => `${topic}-value`, "`<topic>-value`"),
  /** Time to wait for a response. Default 5 seconds. */
  timeout: option.duration("5s", "1ms", "1m"),
};

/** Options of a schema registry. */
export interface SchemaRegistryOptions extends OptionsOf<typeof fields> {
  readonly url: string;
}

const Base = config("SchemaRegistry", fields, { order: ["url"] });

/**
 * Schemas of topics that are kept in a registry: values are Avro, Protobuf or JSON in the format of Confluent's clients, with
 * the id of the writer's schema before them. `topic("orders", { schema: registry.avro({ ... }) })`.
 */
export class SchemaRegistry extends Base {
  readonly #registry: Registry;

  constructor(...given: ConstructorParameters<typeof Base>) {
    super(...given);
    this.#registry = open(this);
  }

  /** The schema of values in Avro: `registry.avro<Order>({ type: "record", name: "Order", fields: [...] })`. */
  avro<Value = unknown>(schema: AvroSchema): StandardSchema<Value> {
    if ((typeof schema !== "object" && typeof schema !== "string") || schema === null) {
      throw new ValueError(`avro() takes an Avro schema, not ${show(schema)}`);
    }
    return this.#schema(async () => (await import("./avro.js")).avroFormat(schema));
  }

  /**
   * The schema of values in Protobuf, from a descriptor that protoc-gen-es has generated. `source` is the text of the
   * `.proto` file, for registries that do not take descriptors.
   */
  protobuf<M extends MessageLike>(type: M, source?: string): StandardSchema<MessageInput<M>, MessageOf<M>> {
    if ((type as MessageLike | null)?.kind !== "message") {
      throw new ValueError(`protobuf() takes the descriptor of a message, not ${show(type)}`);
    }
    return this.#schema(async () => (await import("./protobuf.js")).protobufFormat(type as never, source));
  }

  /** The schema of values in JSON: a schema that has a JSON Schema (zod, valibot, arktype ...), or a model. */
  json<S extends ValueSchema>(schema: S): StandardSchema<InputOf<S>, OutputOf<S>> {
    return this.#schema(async () => (await import("./json.js")).jsonFormat(schema));
  }

  /** Registers the schemas of topics now, in place of at the first publish. Rejects if one is refused. */
  async register(...topics: readonly Topic<never, unknown>[]): Promise<void> {
    for (const { name, schema } of topics) {
      const codec = codecOf(schema);
      if (codec === null) throw new ValueError(`the topic '${name}' has no schema of a registry`);
      await codec.register(name);
    }
  }

  [inspectSymbol](): string {
    return `SchemaRegistry { ${this.url} }`;
  }

  #schema<In, Out>(load: () => Promise<Format>): StandardSchema<In, Out> {
    return registrySchema(new RegistryCodec(this.#registry, this, load)) as StandardSchema<In, Out>;
  }
}

/** A schema of Avro: an object, or the name of a type. */
export type AvroSchema = object | string;

function open({ url, auth, timeout }: Pick<SchemaRegistry, "url" | "auth" | "timeout">): Registry {
  if (url.startsWith("memory:")) return new MemoryRegistry();
  return new HttpRegistry(new URL(url), timeout * 1000, async () => {
    if (auth === null) return null;
    const { username, password = "", token } = auth;
    if (token !== undefined) return `Bearer ${typeof token === "string" ? token : await token()}`;
    return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  });
}

function readAuth(given: EitherSpelling<SchemaRegistryAuth>): SchemaRegistryAuth {
  const auth = authOptions.readGiven([given]) as SchemaRegistryAuth;
  if ((auth.username === undefined) === (auth.token === undefined)) {
    throw new ValueError(`${authOptions.owner} needs a username with a password, or a token`);
  }
  return auth;
}
