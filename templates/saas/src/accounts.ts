import { Blueprint, type Database, HttpError, type JwtAuth, RateLimitConfig, type Request } from "stoa";
import { orConflict, orNotFound } from "stoa/orm";
import { z } from "zod";
import type { WelcomeMail } from "./mail.js";
import { Account } from "./models.js";
import { hashPassword, isPassword } from "./passwords.js";

const Credentials = z.object({
  email: z.email().max(254).toLowerCase(),
  password: z.string().min(10).max(200),
});
const Token = z.object({ token: z.string() });

export interface AccountParts {
  readonly database: Database;
  readonly jwt: JwtAuth;
  readonly welcome: WelcomeMail;
  readonly perMinute: number;
}

export function accountRoutes({ database, jwt, welcome, perMinute }: AccountParts): Blueprint {
  const routes = new Blueprint("", { tags: ["accounts"] });
  const tokenOf = (account: { id: number }) => ({ token: jwt.createToken({ sub: String(account.id) }) });
  // To hash passwords takes time, and nobody may guess many: both routes share this limit.
  const rateLimit = RateLimitConfig.slidingWindow(perMinute, 60);

  routes.post(
    "/signup",
    { body: Credentials, response: Token, status: 201, rateLimit, responses: { 409: "The address has an account" } },
    async (_request, { body: { email, password } }) => {
      const passwordHash = await hashPassword(password);
      // The account and the job are stored together, or neither is.
      const account = await database.transaction(async () => {
        const created = await orConflict(
          Account.objects.create({ email, passwordHash }),
          "This address has an account.",
        );
        await welcome.enqueue({ to: email });
        return created;
      });
      return tokenOf(account);
    },
  );

  routes.post(
    "/login",
    { body: Credentials, response: Token, rateLimit, responses: { 401: "The address or the password is wrong" } },
    async (_request, { body: { email, password } }) => {
      const account = await Account.objects.filter({ email }).first();
      const isRight = await isPassword(password, account?.passwordHash);
      if (account === null || !isRight) throw new HttpError(401, "The address or the password is wrong.");
      return tokenOf(account);
    },
  );

  routes.post("/logout", { summary: "Revoke the token", status: 204 }, async (request) => {
    await jwt.revoke(request);
  });

  routes.get("/me", { response: Account }, (request) => orNotFound(Account.objects.get({ id: accountOf(request) })));

  return routes;
}

/** The id of the account that the token of the request belongs to. */
export function accountOf(request: Request): number {
  const { sub } = request.context.jwt_claims ?? {};
  if (sub === undefined) throw new HttpError(401, "A token is needed.");
  return Number(sub);
}
