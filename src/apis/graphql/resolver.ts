import { type Inject, isInject, type Provided } from "../../di/depends.js";
import type { Host } from "../../feature/host.js";
import { type Guard, guardStage, isGuard } from "../../guards/guard.js";
import type { Request } from "../../http/request.js";
import { checkedOptions } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { Injected, Step } from "../../pipeline/endpoint.js";
import type { GraphqlContext } from "./context.js";

export interface ResolverOptions<I extends Inject = Inject> {
  /** Guards that must all pass before the resolver runs. */
  readonly guards?: readonly Guard[];
  /** Dependencies to inject, by the names that the resolver uses. */
  readonly inject?: I;
}

/** A resolver with guards and dependencies. It fits into every schema. */
export type GuardedResolver<Parent, Args, Result> = (
  parent: Parent,
  args: Args,
  context: GraphqlContext,
  info?: unknown,
) => Result | Promise<Awaited<Result>>;

const readOptions = checkedOptions<ResolverOptions>({
  guards: is.list((value) => (isGuard(value) ? undefined : "a guard (a function, or an object with check)")),
  inject: isInject,
});

const injects = new WeakMap<object, { readonly inject: Inject; readonly steps: WeakMap<object, Step> }>();

/**
 * Adds guards and dependencies to a resolver, for schemas of any origin:
 * `resolver({ guards: [new Role("admin")], inject: { mail: Depends<Mailer>("mail") } }, (parent, args, context, { mail }) => ...)`.
 */
export function resolver<
  Parent = unknown,
  Args = Record<string, unknown>,
  Result = unknown,
  const I extends Inject = Record<never, never>,
>(
  options: ResolverOptions<I>,
  resolve: (parent: Parent, args: Args, context: GraphqlContext, injected: Provided<I>, info?: unknown) => Result,
): GuardedResolver<Parent, Args, Result> {
  const read = readOptions("resolver()", options);
  if (typeof resolve !== "function") throw new ValueError("resolver() takes options and a function");
  const guards = read.guards?.length ? guardStage(read.guards).before! : null;
  const inject = read.inject ?? null;
  const call = (parent: Parent, args: Args, context: GraphqlContext, injected: Injected, info: unknown): Result =>
    resolve(parent, args, context, injected as Provided<I>, info);
  const provide = (
    parent: Parent,
    args: Args,
    context: GraphqlContext,
    info: unknown,
  ): Result | Promise<Awaited<Result>> => {
    if (inject === null) return call(parent, args, context, {}, info);
    const injected: Injected = {};
    const waiting = stepOf(guarded, context.request)(context.request, injected);
    if (!(waiting instanceof Promise)) return call(parent, args, context, injected, info);
    return waiting.then(() => call(parent, args, context, injected, info)) as Promise<Awaited<Result>>;
  };
  const guarded: GuardedResolver<Parent, Args, Result> = (parent, args, context, info) => {
    const waiting = guards?.(context.request);
    if (!(waiting instanceof Promise)) return provide(parent, args, context, info);
    return waiting.then(() => provide(parent, args, context, info)) as Promise<Awaited<Result>>;
  };
  if (inject !== null) injects.set(guarded, { inject, steps: new WeakMap() });
  return guarded;
}

/** Checks the dependencies of a resolver, at start. */
export function prepareResolver(resolve: unknown, host: Host, owner: string): void {
  const known = typeof resolve === "function" ? injects.get(resolve) : undefined;
  known?.steps.set(host, host.injector(known.inject, owner));
}

function stepOf(resolve: object, request: Request): Step {
  const { inject, steps } = injects.get(resolve)!;
  const host = request.host as Host;
  let step = steps.get(host);
  if (step === undefined) steps.set(host, (step = host.injector(inject, "a resolver")));
  return step;
}
