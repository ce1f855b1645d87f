/**
 * Calls `use` with a module that is loaded when it is first needed: at once, if it has been. To write `import()` again would
 * ask Node's loader again, which takes longer than most of what is done with the module.
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
