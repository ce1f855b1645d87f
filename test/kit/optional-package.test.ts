import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { missingPackage } from "../../src/kit/optional-package.js";
import { ValueError } from "../../src/kit/value-error.js";

/** The error of Node itself, outside of the loader of the tests. */
async function failureToLoad(name: string): Promise<Error> {
  const program = `import("${name}").catch(({ message, code }) => console.log(JSON.stringify({ message, code })))`;
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", program]);
  const { message, code } = JSON.parse(stdout) as { message: string; code: string };
  return Object.assign(new Error(message), { code });
}

describe("missingPackage", () => {
  it("The error of a missing package gives the command that installs it", async () => {
    const error = missingPackage("no-such-package", "a feature", await failureToLoad("no-such-package"));
    expect(error).toBeInstanceOf(ValueError);
    expect((error as Error).message).toBe("a feature needs the package 'no-such-package': npm install no-such-package");
  });

  it("missingPackage() returns any other error unchanged", async () => {
    const broken = new SyntaxError("in the package");
    expect(missingPackage("pg", "a feature", broken)).toBe(broken);
    const inner = await failureToLoad("no-such-package");
    expect(missingPackage("pg", "a feature", inner)).toBe(inner);
  });
});
