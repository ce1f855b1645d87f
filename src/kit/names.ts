/**
 * Every name of the contract exists in two spellings, `enableCors` and `enable_cors`. This module derives the second
 * from the first, in the types and at run time, so that nothing is written twice.
 */

/** `"maxRequests"` becomes `"max_requests"`. */
export type SnakeCase<S extends string> = S extends `${infer Head}${infer Tail}`
  ? Tail extends Uncapitalize<Tail>
    ? `${Uncapitalize<Head>}${SnakeCase<Tail>}`
    : `${Uncapitalize<Head>}_${SnakeCase<Tail>}`
  : S;

/**
 * The fields of `T`, each in either spelling. No union and no renaming for those of `T`: editors then show the comments of
 * the fields.
 */
export type EitherSpelling<T> = { [K in keyof T]?: T[K] } & { [K in keyof T as OtherSpelling<K>]?: T[K] };

type OtherSpelling<K> = K extends string ? (SnakeCase<K> extends K ? never : SnakeCase<K>) : never;

/** The fields of `T` together with their contract spelling. */
export type BothSpellings<T> = T & { [K in keyof T as K extends string ? SnakeCase<K> : never]?: T[K] };

/** The members `Names` of `T` under their contract spelling; a member that returns `T` for chaining returns `Self`. */
export type SnakeMembers<T, Names extends keyof T, Self> = {
  [K in Names as K extends string ? SnakeCase<K> : never]: Rechained<T[K], T, Self>;
};

type Rechained<Member, T, Self> = Member extends (...args: infer Args) => infer Returned
  ? T extends Returned
    ? (...args: Args) => Self
    : Member
  : Member;

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Gives `target` (a prototype or a constructor) the contract spelling of each member named. */
export function addSnakeNames(target: object, names: readonly string[]): void {
  for (const name of names) {
    const descriptor = Object.getOwnPropertyDescriptor(target, name);
    if (!descriptor) throw new Error(`${name} is not a member of ${target.constructor.name}`);
    Object.defineProperty(target, snakeCase(name), descriptor);
  }
}

export function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
