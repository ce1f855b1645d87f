interface Member {
  readonly topics?: readonly string[];
}

interface Assignment {
  readonly memberId: string;
  readonly assignments: Map<string, { topic: string; partitions: number[] }>;
}

/**
 * Shares the partitions of a group among the members that have subscribed to their topic. That of the library gives any
 * topic to any member, and consumers of several topics can be in one group here.
 */
export function assignPartitions(
  _current: string,
  members: ReadonlyMap<string, Member>,
  topics: ReadonlySet<string>,
  metadata: { readonly topics: ReadonlyMap<string, { readonly partitionsCount: number }> },
): Assignment[] {
  const shares = new Map<string, Assignment>();
  for (const memberId of [...members.keys()].sort()) shares.set(memberId, { memberId, assignments: new Map() });
  // The topics given are those of the member that assigns alone.
  const all = new Set([...topics, ...[...members.values()].flatMap((member) => member.topics ?? [])]);
  for (const topic of [...all].sort()) {
    const interested = [...shares.values()].filter(({ memberId }) => {
      const wanted = members.get(memberId)?.topics;
      return wanted === undefined || wanted.includes(topic);
    });
    const count = metadata.topics.get(topic)?.partitionsCount ?? 0;
    for (let partition = 0; partition < count && interested.length > 0; partition++) {
      const { assignments } = interested[partition % interested.length]!;
      const share = assignments.get(topic) ?? { topic, partitions: [] };
      share.partitions.push(partition);
      assignments.set(topic, share);
    }
  }
  return [...shares.values()];
}
