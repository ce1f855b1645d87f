import { describe, expect, it } from "vitest";
import { ValueError } from "../../../src/kit/value-error.js";
import { listenError, StartError, startFailure, startReport } from "../../../src/server/start-error.js";

const address = { host: "127.0.0.1", port: 8000 };
const systemError = (code: string): Error => Object.assign(new Error(`listen ${code}`), { code });

describe("listenError", () => {
  it.each([
    ["EADDRINUSE", "port 8000 on 127.0.0.1 is already in use; choose another with --port"],
    ["EACCES", "no permission to listen on port 8000; choose one above 1023 with --port"],
    ["EADDRNOTAVAIL", "127.0.0.1 is not an address of this machine; choose another with --host"],
    ["ENOTFOUND", 'the host "127.0.0.1" cannot be resolved; choose another with --host'],
    ["EWEIRD", "cannot listen on 127.0.0.1:8000: Error: listen EWEIRD"],
  ])("The error %s of listening on a port is explained", (code, message) => {
    expect(listenError(systemError(code), address).message).toBe(message);
  });

  it.each([
    ["EADDRINUSE", "the socket /tmp/a.sock is already in use"],
    ["EACCES", "cannot create the socket /tmp/a.sock: its directory is missing or not writable"],
    ["ENOENT", "cannot create the socket /tmp/a.sock: its directory is missing or not writable"],
    ["ENOTDIR", "cannot create the socket /tmp/a.sock: its directory is missing or not writable"],
    ["EINVAL", "cannot create the socket /tmp/a.sock: the path is too long"],
    ["EWEIRD", "cannot listen on /tmp/a.sock: Error: listen EWEIRD"],
  ])("The error %s of listening on a Unix socket is explained", (code, message) => {
    expect(listenError(systemError(code), { ...address, path: "/tmp/a.sock" }).message).toBe(message);
  });
});

describe("startFailure", () => {
  it("A failed start with a plain message shows the message and the place", () => {
    expect(startFailure(new ValueError("unknown option"))).toMatch(
      /^unknown option \(.*start-error\.test\.ts:\d+:\d+\)$/,
    );
    expect(startFailure(new StartError("no port"))).toBe("no port");
  });

  it("The report of a failed start shows the lines around its place", () => {
    const lines = startReport(new ValueError("unknown option")).split("\n");
    expect(lines[0]).toMatch(/^unknown option \(/);
    const at = lines.findIndex((line) => line.startsWith("> "));
    expect(lines[at]).toMatch(/^> +\d+ \| {5}const lines = startReport/);
    expect(lines[at + 1]).toBe(`       | ${"^".padStart(lines[at]!.indexOf("new ValueError") - 8)}`);
    expect(lines).toHaveLength(7);
    expect(startReport(new StartError("no port"))).toBe("no port");
    expect(startReport("nothing")).toBe("startup failed: nothing was thrown");
  });

  it("A failed start names the code of a cause without a message", () => {
    const refused = Object.assign(new AggregateError([systemError("ECONNREFUSED")], ""), { code: "ECONNREFUSED" });
    const error = new Error("no mail", { cause: refused });
    expect(startFailure(error)).toMatch(/^startup failed: Error: no mail: AggregateError: ECONNREFUSED \(/);
  });

  it("A failed start names causes that go round in a circle once", () => {
    const error = new Error("first");
    error.cause = new Error("second", { cause: error });
    expect(startFailure(error)).toMatch(/^startup failed: Error: first: Error: second \(/);
  });

  it("A failed start names class, message, causes and place of a program's error, on one line", () => {
    const error = new TypeError("no\n  database", { cause: systemError("ECONNREFUSED") });
    expect(startFailure(error)).toMatch(
      /^startup failed: TypeError: no database: Error: listen ECONNREFUSED \(.*start-error\.test\.ts:\d+:\d+\)$/,
    );
  });

  it("A failed start says once what an error quotes of its cause", () => {
    const cause = new AggregateError([systemError("ECONNREFUSED")], "none answered");
    const error = new Error("the broker is unreachable: listen ECONNREFUSED", { cause });
    expect(startFailure(error)).toMatch(/^startup failed: Error: the broker is unreachable: listen ECONNREFUSED \(/);
    const failed = new Error("connection failed", { cause: systemError("ECONNREFUSED") });
    const nested = new Error(error.message, { cause: new AggregateError([failed], "no broker") });
    expect(startFailure(nested)).toMatch(/^startup failed: Error: the broker is unreachable: listen ECONNREFUSED \(/);
    const other = new Error("no database", { cause: new Error("no database", { cause: new Error("no disk") }) });
    expect(startFailure(other)).toMatch(/^startup failed: Error: no database: Error: no disk \(/);
  });

  it("A failed start describes an error without a message, and values that are not errors", () => {
    expect(startFailure(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }))).toContain(
      "AggregateError: ECONNREFUSED",
    );
    expect(startFailure("nothing works")).toBe("startup failed: nothing works was thrown");
  });
});
