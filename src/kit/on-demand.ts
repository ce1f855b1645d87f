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
