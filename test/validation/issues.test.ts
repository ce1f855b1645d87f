import { describe, expect, it } from "vitest";
import { toIssues } from "../../src/validation/issues.js";

describe("issues of a large body", () => {
  it("The texts of a value are listed once for any number of issues", () => {
    let listed = 0;
    const input = new Proxy({ password: "hunter2-s3cret", a: 1 } as Record<string, unknown>, {
      ownKeys: (target) => {
        listed++;
        return Reflect.ownKeys(target);
      },
    });
    const messages = ["'hunter2-s3cret' is wrong", ...Array.from({ length: 3000 }, (_, i) => `rule ${i} is broken`)];
    const issues = toIssues(
      "body",
      messages.map((message) => ({ message })),
      input,
    );
    expect(issues).toHaveLength(1000);
    expect(issues[0]).toEqual({ loc: ["body"], msg: "Invalid value", type: "value_error" });
    expect(issues[1]!.msg).toBe("rule 0 is broken");
    expect(listed).toBe(1);
  });

  it("Issues show no text of the input, also if JSON escapes it", () => {
    const input = { a: 'say "hi" to them', b: "\ud800half" };
    for (const message of [`"say \\"hi\\" to them" is wrong`, `got "\\ud800half"`, `got 'say "hi" to them'`]) {
      expect(toIssues("body", [{ message }], input)[0]!.msg).toBe("Invalid value");
    }
  });

  it("Issues name at most a thousand unknown keys", () => {
    const keys = Array.from({ length: 5000 }, (_, i) => `k${i}`);
    expect(toIssues("body", [{ message: "no", code: "unrecognized_keys", keys } as never], {})).toHaveLength(1000);
  });
});
