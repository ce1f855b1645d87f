/** A value that is sent as JSON whatever it is: a list or a string would otherwise be an array or text. */
export class Json {
  constructor(readonly value: unknown) {}
}

export function json(value: unknown): Json {
  return new Json(value);
}
