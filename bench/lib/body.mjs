/** The body of a workload's request: its type and text, or undefined. */
export function bodyOf({ kind, value, body }) {
  return kind === "echo" ? { type: "application/json", text: JSON.stringify(value) } : body;
}
