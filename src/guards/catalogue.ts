import { ForbiddenError, GuardError, UnauthorizedError } from "../errors/http-error.js";
import type { Request } from "../http/request.js";
import { isPromise } from "../kit/is-promise.js";
import { ValueError } from "../kit/value-error.js";
import {
  type Guard,
  type GuardFunction,
  type GuardObject,
  type GuardResult,
  guardName,
  isGuard,
  toCheck,
} from "./guard.js";

/** A guard that can be made with or without `new`. */
interface GuardMaker<Args extends readonly unknown[]> {
  (...args: Args): GuardObject;
  new (...args: Args): GuardObject;
}

/** Lets authenticated requests pass: those with JWT claims, a user or an API key in the context. Others get 401. */
export const Authenticated: GuardMaker<[]> = maker(() => early("Authenticated", requireIdentity));

/** Lets requests pass whose claims contain at least one of the roles (`role` or `roles`). Others get 403. */
export const Role: GuardMaker<[...roles: string[]]> = maker((...roles) =>
  claimGuard("Role", roles, ["role", "roles"], (held) => roles.some((role) => held.has(role))),
);

/** Lets requests pass whose claims contain all of the permissions (`permission` or `permissions`). Others get 403. */
export const Permission: GuardMaker<[...permissions: string[]]> = maker((...permissions) =>
  claimGuard("Permission", permissions, ["permission", "permissions"], (held) =>
    permissions.every((permission) => held.has(permission)),
  ),
);

/** Lets requests pass whose token has all of the scopes (`scope`, separated by spaces, `scopes` or `scp`). Others get 403. */
export const Scope: GuardMaker<[...scopes: string[]]> = maker((...scopes) =>
  claimGuard("Scope", scopes, ["scope", "scopes", "scp"], (held) => scopes.every((scope) => held.has(scope))),
);

/** Lets requests pass that all of the guards let pass. The first guard that rejects decides the response. */
export const And: GuardMaker<[...guards: Guard[]]> = maker((...guards) => {
  const checks = checksOf("And", guards);
  return combined("And", guards, async (request) => {
    for (const check of checks) {
      const verdict = await verdictOf(check, request);
      if (verdict !== true) throw verdict;
    }
    return true;
  });
});

/** Lets requests pass that at least one of the guards lets pass. Else the last guard decides the response. */
export const Or: GuardMaker<[...guards: Guard[]]> = maker((...guards) => {
  const checks = checksOf("Or", guards);
  return combined("Or", guards, async (request) => {
    let verdict: true | GuardError = new ForbiddenError();
    for (const check of checks) {
      verdict = await verdictOf(check, request);
      if (verdict === true) return true;
    }
    throw verdict;
  });
});

/** Lets requests pass that the guard rejects. If the guard throws an unexpected error, the request is rejected. */
export const Not: GuardMaker<[guard: Guard]> = maker((guard) => {
  const [check] = checksOf("Not", [guard]);
  return combined("Not", [guard], async (request) => (await verdictOf(check!, request)) !== true);
});

function requireIdentity(request: Request): true {
  if (!request.hasContext) throw new UnauthorizedError();
  const { jwt_claims, user, api_key_name } = request.context;
  if (jwt_claims === undefined && user === undefined && api_key_name === undefined) throw new UnauthorizedError();
  return true;
}

function claimGuard(
  name: string,
  wanted: readonly string[],
  claims: readonly string[],
  suffices: (held: ReadonlySet<string>) => boolean,
): GuardObject {
  if (wanted.length === 0 || wanted.some((item) => typeof item !== "string" || item === "")) {
    throw new ValueError(`${name} takes one or more names`);
  }
  return early(`${name}(${wanted.join(", ")})`, (request) => {
    requireIdentity(request);
    return suffices(heldIn(request, claims));
  });
}

function heldIn(request: Request, claims: readonly string[]): ReadonlySet<string> {
  const held = new Set<string>();
  const sources = [request.context.jwt_claims, request.context];
  for (const source of sources) {
    for (const claim of claims) {
      const value = source && Object.hasOwn(source, claim) ? source[claim] : undefined;
      if (typeof value === "string") for (const item of value.split(" ")) held.add(item);
      else if (Array.isArray(value)) for (const item of value) if (typeof item === "string") held.add(item);
    }
  }
  return held;
}

/** True, or the reason for the rejection. Unexpected errors are thrown on, so that they are never taken for one. */
async function verdictOf(check: GuardFunction, request: Request): Promise<true | GuardError> {
  try {
    const result = check(request);
    const value: GuardResult = isPromise(result) ? ((await result) as GuardResult) : result;
    if (value === true) return true;
    return typeof value === "string" ? new ForbiddenError(value) : new ForbiddenError();
  } catch (error) {
    if (error instanceof GuardError) return error;
    throw error;
  }
}

function combined(name: string, guards: readonly Guard[], check: GuardFunction): GuardObject {
  return {
    name: `${name}(${guards.map(guardName).join(", ")})`,
    early: guards.every((guard) => typeof guard === "object" && guard.early === true),
    check,
  };
}

function checksOf(name: string, guards: readonly Guard[]): GuardFunction[] {
  if (guards.length === 0 || !guards.every(isGuard)) throw new ValueError(`${name} takes one or more guards`);
  return guards.map(toCheck);
}

function early(name: string, check: GuardFunction): GuardObject {
  return { name, early: true, check };
}

function maker<Args extends readonly unknown[]>(make: (...args: Args) => GuardObject): GuardMaker<Args> {
  // biome-ignore lint/complexity/useArrowFunction: only a function can be called with `new`, and what it returns is then given
  return function (...args: Args) {
    return make(...args);
  } as GuardMaker<Args>;
}
