import { describe, expect, it } from "vitest";
import { developmentPage } from "../../../src/errors/pages/development-page.js";
import { Request } from "../../../src/http/request.js";
import { fakeSource } from "../../http/fake-source.js";
import { hostileErrors } from "../hostile-errors.js";
import { fail } from "./fixtures/thrower.js";

function thrown(): unknown {
  try {
    return fail();
  } catch (error) {
    return error;
  }
}

/** An error without frames in this file: its source, shown on the page, holds what the tests look for. */
function elsewhere<E extends Error>(error: E): E {
  error.stack = `${error.name}: ${error.message}\n    at f (/elsewhere/a.js:1:1)`;
  return error;
}

function requestOf(target = "/", fields: [string, string][] = []): Request {
  return new Request(fakeSource("GET", target, fields));
}

describe("developmentPage", () => {
  it("The development page shows class, message, stack and the source around the line that threw", () => {
    const page = developmentPage(requestOf(), thrown());
    expect(page).toContain("<h1>TypeError</h1>");
    expect(page).toContain("the fixture &lt;b&gt;failed&lt;/b&gt;");
    expect(page).toContain("test/errors/pages/fixtures/thrower.ts<b>:2</b>");
    expect(page).toMatch(
      /<div class="hit"><i>2<\/i><span> {2}<span class="word">throw<\/span> <span class="word">new</,
    );
    expect(page).toContain('<span class="word">export</span> <span class="word">function</span> fail(): never {');
    expect(page).toMatch(/<summary>\d+ frames? in [^<]*node_modules/);
  });

  it("The development page shows the causes, the errors of an aggregate, and their properties", () => {
    const cause = Object.assign(elsewhere(new RangeError("inner cause")), { sqlstate: "23505", password: "s3cret" });
    const error = elsewhere(new AggregateError([elsewhere(new Error("one part"))], "outer", { cause }));
    const page = developmentPage(requestOf(), error);
    for (const text of ["Caused by", "RangeError", "inner cause", "sqlstate", "23505", "One of several", "one part"]) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain("s3cret");
  });

  it("The development page shows the request without its secrets", () => {
    const request = requestOf("/books/7?genre=sf&token=s3cret-1", [
      ["Host", "a.example"],
      ["Authorization", "Bearer s3cret-2"],
      ["Cookie", "sid=s3cret-3"],
      ["X-Api-Key", "s3cret-4"],
    ]);
    request.paramNames = ["id"];
    request.paramValues = ["7"];
    request.pattern = "/books/{id}";
    const page = developmentPage(request, elsewhere(new Error("m")));
    for (const text of ["/books/7", "/books/{id}", "<dt>id</dt><dd>7</dd>", "<dt>genre</dt><dd>sf</dd>", "a.example"]) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain("s3cret");
    expect(page.match(/\[redacted\]/g)).toHaveLength(4);
  });

  it("The development page shows no one-time code, key or signature of the request, and no path with one", () => {
    const request = requestOf("/reset/s3cret-1?code=s3cret-2&Key=s3cret-3&sig=s3cret-4&page=2");
    request.paramNames = ["code"];
    request.paramValues = ["s3cret-1"];
    request.pattern = "/reset/{code}";
    const page = developmentPage(request, elsewhere(Object.assign(new Error("m"), { code: "ECONNREFUSED" })));
    expect(page).not.toContain("s3cret");
    for (const text of ["/reset/{code}", "<dt>page</dt><dd>2</dd>", "ECONNREFUSED"]) expect(page).toContain(text);
  });

  it("Nothing of the request or the error becomes markup in the development page", () => {
    const attack = `"'><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\x00`;
    const error = Object.assign(new Error(attack, { cause: attack }), { name: attack, [attack]: attack });
    error.stack = `${attack}\n    at ${attack} (/${attack}:1:1)`;
    const request = requestOf(`/${attack}?${encodeURIComponent(attack)}=${encodeURIComponent(attack)}`, [
      [attack, attack],
    ]);
    request.paramNames = [attack];
    request.paramValues = [attack];
    request.pattern = attack;
    const page = developmentPage(request, error);
    expect(page).not.toMatch(/<script|<img|\u202e|\x00/i);
    const tags = new Set([...page.matchAll(/<\/?([a-z0-9]+)/gi)].map((match) => match[1]));
    const known = "html head meta title style body header div p span h1 h2 h3 main section ol li details summary pre";
    expect([...tags].filter((tag) => !`${known} dl dt dd b i code em footer`.split(" ").includes(tag!))).toEqual([]);
    expect(page).not.toMatch(/<[^>]*\son\w+=/i);
  });

  it("The development page loads nothing and runs nothing", () => {
    const page = developmentPage(requestOf(), elsewhere(new Error("m")));
    expect(page).not.toMatch(/<script|<link|<img|<iframe|@import|url\(|\ssrc=|\shref=/i);
  });

  it.each(hostileErrors())("The development page is made for %s too", (_, error) => {
    expect(developmentPage(requestOf(), error)).toContain("</html>");
  });
});
