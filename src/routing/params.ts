/** The names of the parameters in a path pattern: `"/books/{id}/{rest:*}"` gives `"id" | "rest"`. */
export type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Bare}:*` ? Bare : Name) | ParamNames<Rest>
  : never;

/** The parameters of a path pattern, all strings. A path that is not known to the compiler gives any name. */
export type PathParams<Path extends string> = string extends Path
  ? Record<string, string>
  : { readonly [Name in ParamNames<Path>]: string };
