import { ValueError } from "../../../kit/value-error.js";
import type { StandardSchema } from "../../../validation/standard-schema.js";
import { codecSymbol, type ValueCodec } from "../codec.js";
import { MessagingError } from "../errors.js";
import { InvalidValueError, UndecodableError } from "../values.js";
import type { Format } from "./format.js";
import type { Registry } from "./registry.js";
import { Remembered } from "./remembered.js";

/** The first byte of each value: the version of the format. */
const magic = 0;
/** Bytes before the value: the first one, and the id. */
const prefix = 5;
/** Subjects whose ids are remembered. */
const mostSubjects = 1000;

export interface CodecSettings {
  readonly autoRegister: boolean;
  readonly subject: (topic: string, record: string | null) => string;
}

/** The codec of one schema. Its library is loaded when it is first used. */
export class RegistryCodec implements ValueCodec {
  #format: Format | null = null;
  #loading: Promise<Format> | null = null;
  readonly #ids = new Remembered<string, number>(mostSubjects);

  constructor(
    private readonly registry: Registry,
    private readonly settings: CodecSettings,
    private readonly loadFormat: () => Promise<Format>,
  ) {}

  async open(topic: string): Promise<void> {
    const { registry } = this;
    const format = await this.#load();
    const subject = this.#subject(topic, format);
    const definition = await format.definition(registry, false);
    // A version that the registry has taken may be older than the latest: it is not compared again.
    if (definition === null || (await registry.find(subject, definition)) !== null) return;
    const reasons = await registry.incompatibility(subject, definition);
    if (reasons === null) return;
    const why = reasons.length === 0 ? "" : `: ${reasons.join("; ")}`;
    throw new MessagingError(
      "REFUSED",
      `the schema of the topic '${topic}' is not compatible with the latest version of the subject '${subject}'${why}`,
    );
  }

  async register(topic: string): Promise<void> {
    await this.#idOf(topic, await this.#load());
  }

  async encode(topic: string, value: unknown): Promise<Uint8Array> {
    const format = this.#format ?? (await this.#load());
    const payload = await format.write(topic, value);
    const bytes = Buffer.allocUnsafe(prefix + payload.length);
    bytes.writeUInt8(magic);
    bytes.writeUInt32BE(await this.#idOf(topic, format), 1);
    bytes.set(payload, prefix);
    return bytes;
  }

  decode(topic: string, body: Uint8Array): unknown {
    if (this.#format === null) return this.#load().then(() => this.decode(topic, body));
    if (body.length < prefix || body[0] !== magic) {
      throw new UndecodableError(undefined, "the value does not begin with the id of a schema");
    }
    const id = new DataView(body.buffer, body.byteOffset).getUint32(1);
    return this.#format.read(topic, id, body.subarray(prefix), this.registry);
  }

  /** The issues of a value; none if it is right. */
  async validate(value: unknown): Promise<void> {
    await (await this.#load()).write("", value);
  }

  #load(): Promise<Format> {
    this.#loading ??= this.loadFormat().then((format) => (this.#format = format));
    return this.#loading;
  }

  #subject(topic: string, { name }: Format): string {
    const subject: unknown = this.settings.subject(topic, name);
    if (typeof subject === "string" && subject !== "") return subject;
    throw new ValueError(`option 'subject' of SchemaRegistry has returned no name for '${topic}'`);
  }

  #idOf(topic: string, format: Format): number | Promise<number> {
    const subject = this.#subject(topic, format);
    return this.#ids.get(subject, async () => {
      const { registry, settings } = this;
      const definition = await format.definition(registry, settings.autoRegister);
      const id =
        definition !== null && settings.autoRegister
          ? await registry.register(subject, definition)
          : definition && (await registry.find(subject, definition))?.id;
      if (id == null) {
        throw new MessagingError(
          "REFUSED",
          `the schema of the topic '${topic}' is not registered in the subject '${subject}'`,
        );
      }
      format.own?.(id);
      return id;
    });
  }
}

/** The schema that a topic takes. */
export function registrySchema(codec: RegistryCodec): StandardSchema & { readonly [codecSymbol]: ValueCodec } {
  const validate = async (value: unknown) => {
    try {
      await codec.validate(value);
      return { value };
    } catch (error) {
      if (!(error instanceof InvalidValueError)) throw error;
      return { issues: error.issues.map(({ loc, msg, type }) => ({ message: msg, path: loc.slice(1), type })) };
    }
  };
  return { "~standard": { version: 1, vendor: "stoa", validate }, [codecSymbol]: codec };
}
