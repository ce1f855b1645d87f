/** The type of a value that was written as JSON and read again: a Date is text, a Set a list, functions are missing. */
export type Jsonified<T> = unknown extends T
  ? T
  : T extends { toJSON(...args: never[]): infer Json }
    ? Jsonified<Json>
    : T extends bigint
      ? string
      : T extends string | number | boolean | null | undefined
        ? T
        : T extends ReadonlyMap<string | number | bigint, infer Item>
          ? { [key: string]: Jsonified<Item> }
          : T extends ReadonlySet<infer Item>
            ? Jsonified<Item>[]
            : T extends readonly unknown[]
              ? { [Index in keyof T]: Jsonified<T[Index]> }
              : { [Name in keyof T as T[Name] extends Unwritten ? never : Name]: Jsonified<T[Name]> };

type Unwritten = symbol | ((...args: never[]) => unknown);
