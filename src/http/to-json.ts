/**
 * JSON as it is sent. A bigint, which PostgreSQL gives for what a number cannot hold, becomes a string of its digits: a
 * number would be rounded by whoever reads it. The check costs nothing where there is none.
 */
export function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError) || !error.message.includes("BigInt")) throw error;
    return JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? item.toString() : item));
  }
}
