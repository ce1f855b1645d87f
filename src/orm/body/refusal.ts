/** A problem with a value: the contract's type and message for it, never the value. Checks share their instances. */
export class Refusal {
  readonly type: string;
  readonly msg: string;
  /** The problems of a list's items, by index. */
  readonly items: ReadonlyMap<number, Refusal> | undefined;
  /** The number of problems: more than one for a list. */
  readonly count: number;

  constructor(type: string, msg: string, items?: ReadonlyMap<number, Refusal>, count = 1) {
    this.type = type;
    this.msg = msg;
    this.items = items;
    this.count = count;
  }
}

/**
 * Converts a JSON value that is not null to the value of a field, or returns a `Refusal`. `body` says what the text of
 * the whole body may contain, so that no check searches for something that cannot be there.
 */
export type Check = (value: unknown, body: BodyTraits) => unknown;

/** The check of a column's values in JSON. */
export interface ColumnCheck {
  readonly check: Check;
  /** The refusal of null, for columns that do not allow it. */
  readonly onNull: Refusal;
  /** True if the check needs long numbers as they were written. */
  readonly exact: boolean;
}

export interface BodyTraits {
  /** True if the body may contain U+0000. */
  readonly nulls: boolean;
  /** True if the body may contain a number too large for a double. */
  readonly overflow: boolean;
  /** Its bytes if long numbers are texts, see `toNumberText`; null if it has none. */
  readonly source: Buffer | null;
  /** The most problems that are reported. */
  readonly limit: number;
}

export const finiteNumber = new Refusal("finite_number", "Input should be a finite number");
export const nullByte = new Refusal("string_null_byte", "String should not contain null characters (U+0000)");
