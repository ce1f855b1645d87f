/** Replaces a secret in a log or on a page. */
export const redacted = "[redacted]";

// Compared with the name in lower case and without separators, so that `X-Api-Key`, `api_key` and `apiKey` are one.
const secretName =
  /authorization|cookie|passw(?:or)?d|passphrase|secret|tokens?$|apikey|privatekey|accesskey|credential/;

/** True if values with this name are kept out of logs and error pages. */
export function isSecretName(name: string): boolean {
  return secretName.test(name.toLowerCase().replace(/[-_. ]/g, ""));
}

// The lengths bound the work on hostile text.
const passwordInUrl = /(:\/\/[^\s:/?#@]{0,256}:)[^\s/@]{1,1024}@/g;

/** Hides the password of every URL in a text: `postgres://app:hunter2@db` becomes `postgres://app:[redacted]@db`. */
export function hideUrlPasswords(text: string): string {
  return text.includes("://") ? text.replace(passwordInUrl, `$1${redacted}@`) : text;
}
