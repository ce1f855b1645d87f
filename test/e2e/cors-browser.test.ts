import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { App, Response } from "stoa";
import { describe, expect, it } from "vitest";
import { type Wire, wire } from "../batteries/support.js";
import { service } from "../support/service.js";

const chromium = service("chromium");

/** An interface that answers in all the ways that a script may want to read. */
function api(origin: string): App {
  const app = new App().enableCors({ origins: [origin], credentials: true, exposeHeaders: ["X-Total"] });
  app.get("/book", () => new Response("book", { headers: { "X-Total": "7" } }));
  app.put("/book", (request) => request.json());
  return app;
}

/** A page that tries everything and writes down what its script was let to see. */
function page(apiUrl: string): string {
  return `<!doctype html><title>x</title><pre id="seen"></pre><script>
    const seen = document.getElementById("seen");
    const attempt = async (name, path, init) => {
      let line;
      try {
        const response = await fetch("${apiUrl}" + path, init);
        line = response.status + " " + (await response.text()).slice(0, 20) + " " + response.headers.get("x-total");
      } catch (error) {
        line = error.name;
      }
      seen.textContent += name + "=" + line + ";";
    };
    const json = { method: "PUT", headers: { "content-type": "application/json" }, body: "[1]" };
    (async () => {
      await attempt("get", "/book");
      await attempt("credentials", "/book", { credentials: "include" });
      await attempt("put", "/book", json);
      await attempt("odd", "/book", { headers: { "x-not-allowed": "1" } });
      const missing = await fetch("${apiUrl}/missing").then((response) => response.status, (error) => error.name);
      seen.textContent += "missing=" + missing + ";done";
    })();
  </script>`;
}

function site(html: () => string): App {
  const app = new App();
  app.get("/", () => Response.html(html()));
  return app;
}

async function whatAScriptSees(url: string): Promise<string> {
  const profile = await mkdtemp(join(tmpdir(), "stoa-chromium-"));
  try {
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];
    const more = [`--user-data-dir=${profile}`, "--virtual-time-budget=10000", "--dump-dom", url];
    const { stdout } = await promisify(execFile)(chromium as string, [...flags, ...more]);
    return /<pre id="seen">([^<]*)/.exec(stdout)?.[1] ?? stdout;
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

describe.skipIf(!chromium)("a browser's script", () => {
  it("A script of an allowed origin reads responses and errors, and one of another origin reads nothing", {
    timeout: 120_000,
  }, async () => {
    let apiUrl = "";
    await using allowed: Wire = await wire(site(() => page(apiUrl)));
    await using other: Wire = await wire(site(() => page(apiUrl)));
    await using server: Wire = await wire(api(allowed.url));
    apiUrl = server.url;
    expect(await whatAScriptSees(allowed.url)).toBe(
      "get=200 book 7;credentials=200 book 7;put=200 [1] null;odd=TypeError;missing=404;done",
    );
    expect(await whatAScriptSees(other.url)).toBe(
      "get=TypeError;credentials=TypeError;put=TypeError;odd=TypeError;missing=TypeError;done",
    );
  });
});
