/** What is wrong with a value: the contract's name for it and its text, never the value. Checks share theirs. */
export class Refusal {
  readonly type: string;
  readonly msg: string;
  /** What is wrong with the items of a list, by their places. */
  readonly items: ReadonlyMap<number, Refusal> | undefined;

  constructor(type: string, msg: string, items?: ReadonlyMap<number, Refusal>) {
    this.type = type;
    this.msg = msg;
    this.items = items;
  }
}

/**
 * Makes the value of a field from a JSON value that is not null, or a `Refusal`. `body` tells what the text of the whole
 * body may hold, so that nothing is searched for what cannot be there.
 */
export type Check = (value: unknown, body: BodyTraits) => unknown;

export interface BodyTraits {
  /** Whether U+0000 may be in it. */
  readonly nulls: boolean;
  /** Whether a number too large for a double may be in it. */
  readonly overflow: boolean;
}

export const finiteNumber = new Refusal("finite_number", "Input should be a finite number");
export const nullByte = new Refusal("string_null_byte", "String should not contain null characters (U+0000)");
