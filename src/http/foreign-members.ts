/** Members that the first argument of a function has in other frameworks, and the explanation of what to use here. */
const explanations = {
  body: "read it with request.json(), or give the route a schema, { body: ... }, and take it from the handler's second argument",
};

/** Makes reading such a member an error with its explanation. They are not in the types, so that editors do not offer them. */
export function explainForeignMembers(prototype: object): void {
  for (const [name, explanation] of Object.entries(explanations)) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      get(): never {
        throw new TypeError(`a request has no '${name}': ${explanation}`);
      },
      /** A program may give its requests a member of this name. */
      set(this: object, value: unknown) {
        Object.defineProperty(this, name, { value, writable: true, configurable: true, enumerable: true });
      },
    });
  }
}
