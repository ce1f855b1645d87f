import { option, options } from "../../../kit/config.js";
import { type Check, is, show } from "../../../kit/options.js";
import { ValueError } from "../../../kit/value-error.js";
import { checkName } from "../names.js";

/** The value of a personal field whose key was deleted, where the declaration names no other. */
export const erasedText = "[erased]";

/** The personal data of one type of events. */
export interface PersonalOptions<Data = Record<string, unknown>> {
  /** The field that identifies the person. It is stored in the clear: use an id, not a name. */
  readonly subject: keyof Data & string;
  /** Fields that are stored encrypted, with the key of the person. */
  readonly fields: readonly (keyof Data & string)[];
  /** Values of the fields after the person was forgotten. Default: the text `[erased]`. */
  readonly erased?: { readonly [Field in keyof Data]?: Data[Field] | null } | undefined;
}

const isNames: Check<readonly string[]> = (value) =>
  is.list(is.text)(value) === undefined && (value as readonly string[]).length > 0 ? undefined : "a list of names";

const personalOptions = options("personal()", {
  subject: option.required(is.text),
  fields: option.required(isNames),
  erased: option<NonNullable<PersonalOptions["erased"]>>(is.object),
});

/** Personal fields by type of event: `static readonly personal` of an aggregate. */
export type PersonalFieldsOf<Events> = {
  readonly [Type in keyof Events]?: PersonalOptions<Events[Type]>;
};

/** The declarations of personal fields. */
export class PersonalFields {
  readonly #types = new Map<string, PersonalOptions>();

  declare(type: string, given: PersonalOptions): void {
    checkName("the type of an event", type);
    const options = personalOptions.read([given], `the personal fields of ${show(type)}`);
    const { subject, fields } = options;
    if (fields.includes(subject)) {
      throw new ValueError(`the subject of ${show(type)} cannot be one of its personal fields: it leads to the key`);
    }
    const before = this.#types.get(type);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(options)) {
      throw new ValueError(`the personal fields of ${show(type)} have been declared already, in another way`);
    }
    this.#types.set(type, options);
  }

  of(type: string): PersonalOptions | undefined {
    return this.#types.get(type);
  }

  get empty(): boolean {
    return this.#types.size === 0;
  }
}
