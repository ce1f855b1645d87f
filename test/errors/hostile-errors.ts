/** Things that can be thrown and that bite when they are looked at. */
export function hostileErrors(): [what: string, thrown: unknown][] {
  const bite = (): never => {
    throw new Error("bitten");
  };
  const circular = new Error("circular");
  circular.cause = circular;
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  return [
    ["null", null],
    ["undefined", undefined],
    ["a string", "text"],
    ["a number", 42],
    ["a bigint", 1n],
    ["a symbol", Symbol("s")],
    ["a function", () => 1],
    ["a plain object", { a: 1 }],
    ["an object without prototype", Object.create(null)],
    ["a throwing message", Object.defineProperty(new Error(), "message", { get: bite })],
    ["a throwing stack", Object.defineProperty(new Error("m"), "stack", { get: bite })],
    ["a throwing name", Object.defineProperty(new Error("m"), "name", { get: bite })],
    ["a throwing constructor", Object.defineProperty(new Error("m"), "constructor", { get: bite })],
    ["a throwing cause", Object.defineProperty(new Error("m"), "cause", { get: bite })],
    ["a message that throws as text", Object.assign(new Error(), { message: { toString: bite } })],
    ["a message that is a symbol", Object.assign(new Error(), { message: Symbol("m") })],
    ["a circular cause", circular],
    ["a proxy that throws", new Proxy(new Error("m"), { get: bite, getPrototypeOf: bite, has: bite, ownKeys: bite })],
    ["a revoked proxy", revoked.proxy],
    ["a huge message", new Error("x".repeat(5_000_000))],
  ];
}
