import type { Request } from "../../../http/request.js";

/**
 * The request of a WebSocket, for one of its operations: scoped dependencies belong to the operation and are disposed
 * after it, and its lines in the log name it. Everything else is that of the connection, such as the context and the session.
 */
export function operationRequest(connection: Request): { request: Request; finish: () => Promise<void> } {
  let scope: Map<string, unknown> | null = null;
  let log = connection.log;
  let callbacks: (() => void | Promise<void>)[] | null = [];
  const onFinish = (callback: () => void | Promise<void>): void => {
    if (callbacks === null) void settle(connection, callback);
    else callbacks.push(callback);
  };
  const request = new Proxy(connection, {
    get(target, key) {
      if (key === "scope") return scope;
      if (key === "onFinish") return onFinish;
      if (key === "log") return log;
      const value: unknown = Reflect.get(target, key, target);
      // Methods read private members, which a proxy does not have.
      return typeof value === "function" ? value.bind(target) : value;
    },
    set(target, key, value) {
      if (key === "scope") scope = value as Map<string, unknown> | null;
      else if (key === "logFields") log = connection.log.child(value as Record<string, string>);
      else return Reflect.set(target, key, value, target);
      return true;
    },
  });
  const finish = async (): Promise<void> => {
    const all = callbacks ?? [];
    callbacks = null;
    for (const callback of all) await settle(connection, callback);
  };
  return { request, finish };
}

async function settle(request: Request, callback: () => void | Promise<void>): Promise<void> {
  try {
    await callback();
  } catch (error) {
    request.host?.logger.error("a callback after an operation failed", { error });
  }
}
