import { jsonText } from "../../../durable/texts.js";
import { decrypt, encrypt } from "../../../kit/box.js";
import { isPlainObject, show } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import type { NewEvent } from "../event.js";
import type { SubjectKey } from "./master-keys.js";
import { erasedText, type PersonalFields } from "./personal.js";
import type { SubjectKeys } from "./subject-keys.js";

/** The field of stored data that holds the encrypted ones. */
const sealedField = "$personal";
const longestSubject = 255;

/** Encrypted fields as they are stored. */
interface Sealed {
  readonly subject: string;
  /** The id of the key. */
  readonly key: string;
  readonly fields: readonly string[];
  /** Initialization vector, tag and text, in base64. */
  readonly box: string;
}

/** Encrypts the personal fields of events with AES-256-GCM and a key for each person, and opens them again. */
export class PersonalData {
  constructor(
    readonly declared: PersonalFields,
    readonly keys: SubjectKeys,
  ) {}

  /** The events with their personal fields encrypted. */
  async seal(stream: string, events: readonly NewEvent[]): Promise<readonly NewEvent[]> {
    const subjects = new Set<string>();
    for (const { type, data } of events) {
      const subject = this.#subjectOf(type, data);
      if (subject !== null) subjects.add(subject);
    }
    if (subjects.size === 0) return events;
    const keys = await this.keys.forWriting([...subjects], stream);
    return events.map((event) => {
      const subject = this.#subjectOf(event.type, event.data);
      return subject === null ? event : { ...event, data: this.#sealed(event, subject, keys.get(subject)!) };
    });
  }

  /** The events with their personal fields readable, or erased where the key was deleted. */
  async open<Event extends { readonly type: string; readonly data: unknown }>(events: Event[]): Promise<Event[]> {
    const sealed = events.map(({ data }) => sealedOf(data));
    const ids = new Set(sealed.filter((one) => one !== null).map(({ key }) => key));
    if (ids.size === 0) return events;
    const keys = await this.keys.forReading([...ids]);
    return events.map((event, index) => {
      const one = sealed[index]!;
      return one === null ? event : { ...event, data: this.#opened(event, one, keys.get(one.key) ?? null) };
    });
  }

  #subjectOf(type: string, data: unknown): string | null {
    if (isPlainObject(data) && Object.hasOwn(data, sealedField)) {
      throw new ValueError(`the data of ${show(type)} cannot have a field '${sealedField}'`);
    }
    const personal = this.declared.of(type);
    if (personal === undefined) return null;
    const subject = isPlainObject(data) ? data[personal.subject] : undefined;
    const text = typeof subject === "number" ? String(subject) : subject;
    if (typeof text !== "string" || text === "" || text.length > longestSubject || text.includes("\0")) {
      throw new ValueError(
        `the field '${personal.subject}' of ${show(type)} must identify the person: a string of 1 to ${longestSubject} characters`,
      );
    }
    return text;
  }

  #sealed({ type, data }: NewEvent, subject: string, { id, key }: SubjectKey): Record<string, unknown> {
    const { fields } = this.declared.of(type)!;
    const given = data as Record<string, unknown>;
    const present = fields.filter((field) => given[field] !== undefined);
    const text = jsonText(
      Object.fromEntries(present.map((field) => [field, given[field]])),
      `the data of ${show(type)}`,
    );
    const box = encrypt(key, text, contextOf(type, subject)).toString("base64");
    const sealed: Sealed = { subject, key: id, fields: present, box };
    const clear = Object.entries(given).filter(([name]) => !fields.includes(name));
    return { ...Object.fromEntries(clear), [sealedField]: sealed };
  }

  #opened(event: { readonly type: string; readonly data: unknown }, sealed: Sealed, key: Buffer | null): unknown {
    const { [sealedField]: _sealed, ...clear } = event.data as Record<string, unknown>;
    if (key !== null) {
      const text = decrypt(key, Buffer.from(sealed.box, "base64"), contextOf(event.type, sealed.subject));
      return { ...clear, ...(JSON.parse(text) as object) };
    }
    const erased = this.declared.of(event.type)?.erased ?? {};
    const values = sealed.fields.map((field) => [field, field in erased ? erased[field] : erasedText]);
    return { ...clear, ...Object.fromEntries(values) };
  }
}

function contextOf(type: string, subject: string): string {
  return `${type}\n${subject}`;
}

/** Null for data without encrypted fields. */
function sealedOf(data: unknown): Sealed | null {
  if (typeof data !== "object" || data === null || !Object.hasOwn(data, sealedField)) return null;
  const sealed = (data as Record<string, unknown>)[sealedField] as Partial<Sealed> | null;
  const { subject, key, fields, box } = sealed ?? {};
  const valid =
    typeof subject === "string" && typeof key === "string" && Array.isArray(fields) && typeof box === "string";
  return valid ? (sealed as Sealed) : null;
}
