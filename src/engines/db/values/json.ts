/** A value that is always sent as JSON. Without it a list is an array, and a string is text. */
export class Json {
  constructor(readonly value: unknown) {}
}

export function json(value: unknown): Json {
  return new Json(value);
}
