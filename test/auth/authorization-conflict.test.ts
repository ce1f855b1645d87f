import { AnyAuth, App, BasicAuth, JwtAuth, JwtConfig } from "stoa";
import { expect, it } from "vitest";

const jwt = () => new JwtAuth(new JwtConfig({ secret: "s".repeat(32) }));
const basic = () => new BasicAuth(() => true);

async function warningsOf(app: App): Promise<string[]> {
  const warnings: string[] = [];
  const nothing = () => {};
  const warn = (message: string) => void warnings.push(message);
  const logger = { debug: nothing, info: nothing, warn, error: nothing, child: () => logger };
  app.logger = logger;
  app.get("/a", () => "");
  app.get("/b", () => "");
  await app.start();
  await app.stop();
  return warnings.filter((warning) => warning.includes("Authorization"));
}

it("An application with JwtAuth and BasicAuth says at the start that both read the Authorization header", async () => {
  const warnings = await warningsOf(new App().use(jwt()).use(basic()));
  expect(warnings).toEqual([
    "JwtAuth and BasicAuth both read the Authorization header, so no request to GET /a can satisfy both: " +
      "accept either of them with new AnyAuth(...), or give each its own paths with skipPath()",
  ]);
});

it("Either of two authentications, and two with paths of their own, are no conflict", async () => {
  expect(await warningsOf(new App().use(new AnyAuth(jwt(), basic())))).toEqual([]);
  expect(await warningsOf(new App().use(jwt().skipPath("/a")).use(basic().skipPath("/b")))).toEqual([]);
});
