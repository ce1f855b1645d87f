/**
 * Makes an error without a stack. For responses that are sent many times under load: a stack
 * is three quarters of what a refusal costs (10 of 13 microseconds), and says nothing.
 */
export function withoutStack<E extends Error>(make: () => E): E {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = limit;
  }
}
