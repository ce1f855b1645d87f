import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { stackFrames } from "../../../src/errors/pages/stack-frames.js";

function framesOf(...lines: string[]) {
  return stackFrames({ name: "Error", message: "m", stack: ["Error: m", ...lines].join("\n") });
}

describe("stackFrames", () => {
  it.each([
    ["    at fail (/app/a.js:10:5)", { call: "fail", file: "/app/a.js", line: 10, column: 5, owner: "application" }],
    ["    at async Books.list (file:///app/my%20books.ts:1:2)", { call: "async Books.list", file: "/app/my books.ts" }],
    ["    at file:///app/a.js:3:1", { call: "", file: "/app/a.js", line: 3, column: 1 }],
    ["    at async file:///app/a.js:3:1", { call: "", file: "/app/a.js" }],
    ["    at new Book (/app/a.ts?t=17:3:1)", { call: "new Book", owner: "application" }],
    ["    at Object.x [as y] (/app/(group)/a.js:3:1)", { call: "Object.x [as y]", file: "/app/(group)/a.js", line: 3 }],
    ["    at Array.map (<anonymous>)", { call: "Array.map", file: "<anonymous>", line: undefined, owner: "node" }],
    ["    at node:internal/timers:95:5", { file: "node:internal/timers", line: 95, owner: "node" }],
    ["    at q (/app/node_modules/pg/client.js:1:1)", { owner: "dependency" }],
    [`    at run (${join(process.cwd(), "src/pipeline/x.ts")}:1:1)`, { owner: "framework" }],
  ])("The stack line %s is read as a frame", (line, expected) => {
    expect(framesOf(line)).toMatchObject([expected]);
  });

  it("A line of the message is not read as a frame", () => {
    const error = new Error("m\n    at forged (/app/secret.js:1:1)");
    const frames = stackFrames({ name: "Error", message: error.message, stack: error.stack });
    expect(frames.length).toBeGreaterThan(0);
    expect(frames.map((frame) => frame.call)).not.toContain("forged");
  });

  it("Lines that are not frames are left out, and sixty frames are the maximum", () => {
    expect(framesOf("nonsense", "   at", `    at ${"x".repeat(5000)} (/a.js:1:1)`)).toEqual([]);
    expect(framesOf(...Array.from({ length: 100 }, () => "    at f (/a.js:1:1)"))).toHaveLength(60);
  });
});
