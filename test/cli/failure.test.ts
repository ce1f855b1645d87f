import { describe, expect, it } from "vitest";
import { failureDetails, failureLine } from "../../src/cli/failure.js";
import { UniqueViolation } from "../../src/engines/db/errors.js";

describe("the failure of a command", () => {
  it("A failure is one line, with the class only if that helps", () => {
    expect(failureLine(new Error("first\n  second"))).toBe("first second");
    expect(failureLine(new TypeError("x is not a function"))).toBe("TypeError: x is not a function");
    expect(failureLine("a text")).toBe("a text was thrown");
    expect(failureLine(new Error(""))).toBe("no message");
  });

  it("A failure never shows the user and password of a URL", () => {
    const message = "cannot reach postgres://ada:s3cret%40@db.example/shop?password=s3cret";
    for (const text of [failureLine(new Error(message)), failureDetails(new Error(message))]) {
      expect(text).not.toMatch(/s3cret|ada/);
      expect(text).toContain("postgres://***@db.example/shop");
    }
  });

  it("The details of a failure show statement, detail and hint of the database", () => {
    const cause = new UniqueViolation("duplicate key", {
      detail: "Key (id)=(1) already exists.",
      hint: "Use another.",
    });
    const error = Object.assign(new Error("0001 failed", { cause }), { statement: "insert into a values (1)" });
    const details = failureDetails(error);
    expect(details).toContain("statement: insert into a values (1)");
    expect(details).toContain("detail: Key (id)=(1) already exists.");
    expect(details).toContain("hint: Use another.");
    expect(details).toContain("failure.test.ts");
    expect(failureLine(error)).toBe("0001 failed");
  });
});
