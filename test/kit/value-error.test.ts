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
