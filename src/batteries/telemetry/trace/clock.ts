/** The time of day at the zero of the monotonic clock, in milliseconds. */
let origin = performance.timeOrigin;
/** A smaller difference is the resolution of the system's clock, or its slow correction. */
const tolerance = 50;

/** Follows the clock of the day when it was set. Called for each batch: two clocks within a trace would tear it. */
export function followClock(): void {
  const measured = Date.now() - performance.now();
  if (Math.abs(measured - origin) > tolerance) origin = measured;
}

/** Whole microseconds since 1970 of a moment of the monotonic clock. */
export function unixMicros(moment: number): number {
  return Math.floor((origin + moment) * 1000);
}

/** The moment of the monotonic clock at a time of day in milliseconds. */
export function momentOf(unixMillis: number): number {
  return unixMillis - origin;
}
