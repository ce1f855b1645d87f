/**
 * Calls `use` with a module that is loaded on first use: synchronously, if it is loaded. A second `import()` would go
 * through Node's loader again, which takes longer than most uses of the module.
 */
export function onDemand<Module>(
  load: () => Promise<Module>,
): <T>(use: (module: Module) => T | Promise<T>) => T | Promise<T> {
  let loaded: Module | null = null;
  return (use) => {
    if (loaded !== null) return use(loaded);
    return load().then((module) => {
      loaded = module;
      return use(module);
    });
  };
}

/** A value that the first call makes, for all calls. After a failed attempt the next call makes another one. */
export function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    });
    return made;
  };
}
