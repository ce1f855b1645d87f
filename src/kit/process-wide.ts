/**
 * The value of this name, made by the first call. There is one for all copies of a module: in a program that tsx runs as
 * CommonJS, modules that are imported later are loaded a second time.
 */
export function processWide<T>(name: string, make: () => T): T {
  const all = globalThis as unknown as Record<symbol, T | null | undefined>;
  return (all[Symbol.for(`stoa.${name}`)] ??= make());
}
