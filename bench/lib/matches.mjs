/**
 * The pairs that are compared in a workload: every contestant with the base or, in a workload with variants, each
 * variant with the first one.
 */
export function matchesOf(workload, base, contestants) {
  const { variants } = workload;
  if (!variants) return contestants.map((contestant) => ({ name: contestant.name, sides: [base, contestant] }));
  return contestants.flatMap((contestant) =>
    variants.slice(1).flatMap(({ label, count, peers }, index) => {
      if (peers && !peers.includes(contestant.name)) return [];
      const sides = [0, index + 1].map((variant) => ({ ...contestant, variant }));
      return [{ name: contestant.name, label, count, sides }];
    }),
  );
}

/** Between two revisions: both with the last variant, which shows most. */
export function revisionMatches({ variants }, base, contestants) {
  const variant = variants && variants.length - 1;
  return contestants.map((contestant) => ({
    name: contestant.name,
    sides: [base, contestant].map((side) => ({ ...side, variant })),
  }));
}
