import { describe, expect, it } from "vitest";
import { banner, urlOf } from "../../../src/server/banner.js";
import { planRun } from "../../../src/server/run-options.js";

describe("urlOf", () => {
  it.each([
    [{ host: "127.0.0.1", port: 80 }, false, "http://127.0.0.1:80"],
    [{ host: "127.0.0.1", port: 443 }, true, "https://127.0.0.1:443"],
    [{ host: "0.0.0.0", port: 80 }, false, "http://localhost:80"],
    [{ host: "::", port: 80 }, false, "http://localhost:80"],
    [{ host: "::1", port: 80 }, false, "http://[::1]:80"],
    [{ host: "", port: 0, path: "/tmp/a.sock" }, false, "unix:/tmp/a.sock"],
  ])("The address %j becomes a URL that works in a browser", (address, secure, url) => {
    expect(urlOf(address, secure)).toBe(url);
  });
});

describe("banner", () => {
  const address = { host: "127.0.0.1", port: 4321 };

  it("The banner shows the real address, the links, the mode and the process", () => {
    const text = banner(planRun({}, { port: 0 }, {}), address, [["Docs", "/docs"]], false);
    expect(text).toContain("Stoa is listening on http://127.0.0.1:4321\n");
    expect(text).toMatch(/Docs +http:\/\/127\.0\.0\.1:4321\/docs\n/);
    expect(text).toMatch(/Mode +development, debug on\n/);
    expect(text).toMatch(new RegExp(`Workers +1 \\(pid ${process.pid}\\)\n`));
    expect(text).not.toContain("\x1b");
  });

  it("The banner shows the number of workers, and that every interface is open", () => {
    const plan = planRun({}, { workers: 3 }, {});
    const text = banner(plan, { host: "0.0.0.0", port: 1 }, [["Docs", "/docs"]], true);
    expect(text).toContain("3 (supervisor pid");
    expect(text).toMatch(/Docs.*\n.*Bound to.*0\.0\.0\.0, every interface\n.*Mode/);
    expect(text).toContain("\x1b[36mhttp://localhost:1\x1b[0m");
  });
});
