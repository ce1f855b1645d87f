/** The message of everything that is used too early: what was used, why it fails, and the cure. */
export function notStarted(used: string): string {
  return `${used} was used before the application was started: use it in handlers and startup hooks, or after app.start()`;
}

/**
 * A client that can be taken before the start: `const kv = app.kvstore`. It becomes the client that the start makes. A
 * member that is used earlier is an error.
 */
export function deferredClient<T extends object>(
  name: string,
  find: () => T | null,
  refuse: (message: string) => Error = (message) => new Error(message),
): T {
  const bound = new WeakMap<object, unknown>();
  const clientFor = (member: PropertyKey): T => {
    const client = find();
    if (client === null) throw refuse(notStarted(`${name}.${String(member)}`));
    return client;
  };
  return new Proxy(Object.create(null) as T, {
    get(_, member) {
      // Read by `await` and by code that prints a value: no use of the client.
      if ((typeof member === "symbol" || member === "then") && !isMade(find)) return undefined;
      const client = clientFor(member);
      const value: unknown = Reflect.get(client, member, client);
      // A method with its own members would lose them.
      if (typeof value !== "function" || Object.keys(value).length > 0) return value;
      let method = bound.get(value);
      if (method === undefined) bound.set(value, (method = value.bind(client)));
      return method;
    },
    set: (_, member, value) => Reflect.set(clientFor(member), member, value),
    has: (_, member) => isMade(find) && Reflect.has(find()!, member),
    getPrototypeOf: () => (isMade(find) ? Reflect.getPrototypeOf(find()!) : null),
  });
}

/** True if the client exists. If it does not, `find` may throw. */
function isMade(find: () => object | null): boolean {
  try {
    return find() !== null;
  } catch {
    return false;
  }
}
