/** The ways in which a server asks for authentication, by libpq's names. `none`: it does not ask. */
export const authMethods = ["none", "password", "md5", "scram-sha-256"] as const;
export type AuthMethod = (typeof authMethods)[number];

/** The methods that a connection accepts. */
export interface RequiredAuth {
  readonly accepted: ReadonlySet<AuthMethod>;
  /** Methods that are accepted because the option names them. */
  readonly named: ReadonlySet<AuthMethod>;
}

/**
 * Reads the option as libpq does: a list of methods, separated by commas, one of which the server must use; or, each
 * with an exclamation mark, those that it must not. Null if the text is neither.
 */
export function parseRequireAuth(text: string | undefined): RequiredAuth | null {
  if (text === undefined) return { accepted: new Set(authMethods), named: new Set() };
  const items = text.split(",").map((item) => item.trim());
  const negated = items.filter((item) => item.startsWith("!"));
  if (negated.length > 0 && negated.length < items.length) return null;
  const names = items.map((item) => item.replace("!", ""));
  if (!names.every(isMethod) || new Set(names).size < names.length) return null;
  if (negated.length === 0) return { accepted: new Set(names), named: new Set(names) };
  return { accepted: new Set(authMethods.filter((method) => !names.includes(method))), named: new Set() };
}

function isMethod(name: string): name is AuthMethod {
  return (authMethods as readonly string[]).includes(name);
}
