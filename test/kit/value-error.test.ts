import { App, ValueError } from "stoa";
import { expect, it } from "vitest";

it("The stack of a mistake in a call begins with the line of the caller", () => {
  function theCaller(): void {
    new App().enableCors({ origin: "*" } as never);
  }
  let stack = "";
  try {
    theCaller();
  } catch (error) {
    expect(error).toBeInstanceOf(ValueError);
    stack = (error as Error).stack!;
  }
  const [title, first] = stack.split("\n");
  expect(title).toMatch(/^ValueError: unknown option 'origin' in .*did you mean 'origins'\?$/);
  expect(first).toMatch(/at theCaller \(.*value-error\.test\.ts:\d+:\d+\)$/);
});

it.each([
  ["names a place that is no path", (error: Error) => `${error}\n    at f (file://host/a.ts:1:2)`],
  ["is no text", () => Object.create(null)],
])("A mistake keeps its message if its stack %s", (_what, prepare) => {
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = prepare;
  try {
    expect(new ValueError("the mistake").message).toBe("the mistake");
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
  }
});
