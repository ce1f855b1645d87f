/**
 * Where a real service is, or undefined when it cannot be had: `describe.skipIf(!service("chromium"))`. `npm test`
 * starts the services that the chosen test files name in this way, written out like this, and lists the missing ones;
 * with `isLong ? ` before it, `npm test -- --all` does.
 */
export function service(name: string): string | undefined {
  return process.env[`STOA_TEST_${name.toUpperCase()}`];
}
