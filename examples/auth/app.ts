import { randomBytes } from "node:crypto";
import { AnyAuth, ApiKeyAuth, App, Authenticated, JwtAuth, Response, Role } from "stoa";
import { Users } from "./users.js";

/** An API with tokens for people and a key for another service. */
export async function authApp(secret: string | Buffer = process.env["JWT_SECRET"] ?? randomBytes(32)): Promise<App> {
  const users = new Users();
  await users.add({ name: "ada", role: "admin" }, "lovelace");
  await users.add({ name: "bob", role: "reader" }, "builder");

  const jwt = new JwtAuth({ secret, algorithm: "HS256", expiration: 3600, issuer: "auth-example" });
  const services = new ApiKeyAuth({ [process.env["REPORTS_KEY"] ?? "reports-key-for-development"]: "reports" });

  const app = new App();
  app.use(new AnyAuth(jwt, services).skipPath("/login"));

  app.post("/login", async (request) => {
    const form = request.form();
    const user = await users.check(String(form.get("name") ?? ""), String(form.get("password") ?? ""));
    if (!user) return Response.json({ error: "The name or the password is not valid" }, 401);
    return { token: jwt.createToken({ sub: user.name, role: user.role }) };
  });

  app.post("/refresh", async (request) => ({ token: await jwt.refresh(request) }));
  app.post("/logout", (request) => jwt.revoke(request));

  app.get("/me", { guards: [Authenticated()] }, ({ context }) => ({
    name: context.jwt_claims?.["sub"] ?? context.api_key_name,
    role: context.jwt_claims?.["role"] ?? "service",
  }));
  app.get("/admin", { guards: [Role("admin")] }, () => ({ secret: "only for administrators" }));
  return app;
}
