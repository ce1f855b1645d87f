import type { Subscription, TopicPartitions } from "./subscription.js";

/** The partitions of a member, by topic. */
export interface Share {
  readonly memberId: string;
  readonly assignments: Map<string, TopicPartitions>;
}

/**
 * Shares the partitions of a group among the members that have subscribed to their topic, evenly. A member keeps its
 * partitions, as far as they are not more than its part. In a cooperative group a partition that moves is left out until its
 * owner has given it up: the group is shared again then.
 */
export function assignPartitions(
  members: ReadonlyMap<string, Subscription>,
  countOf: (topic: string) => number,
  cooperative: boolean,
): Share[] {
  const shares = [...members.keys()].sort().map((memberId): Share => ({ memberId, assignments: new Map() }));
  const topics = new Set([...members.values()].flatMap((member) => member.topics));
  for (const topic of [...topics].sort()) {
    const owners = ownersOf(topic, countOf(topic), members);
    const interested = shares.filter(({ memberId }) => members.get(memberId)!.topics.includes(topic));
    for (const [{ memberId, assignments }, partitions] of divide(owners, interested)) {
      const free = cooperative ? partitions.filter((number) => (owners[number] ?? memberId) === memberId) : partitions;
      if (free.length > 0) assignments.set(topic, { topic, partitions: free });
    }
  }
  return shares;
}

/** The member that has each partition of a topic; null if none has it. */
function ownersOf(topic: string, count: number, members: ReadonlyMap<string, Subscription>): (string | null)[] {
  const owners = new Array<string | null>(count).fill(null);
  const generations = new Array<number>(count).fill(-2);
  for (const [memberId, { owned, generation }] of members) {
    for (const number of owned.filter((each) => each.topic === topic).flatMap(({ partitions }) => partitions)) {
      // A member that has missed a change of the group may name one that another has got since.
      if (number >= count || generation <= generations[number]!) continue;
      owners[number] = memberId;
      generations[number] = generation;
    }
  }
  return owners;
}

/** Divides the partitions of a topic. Nothing moves that need not. */
function divide(owners: readonly (string | null)[], members: readonly Share[]): Map<Share, number[]> {
  const parts = new Map(members.map((member) => [member, [] as number[]]));
  const byId = new Map(members.map((member) => [member.memberId, parts.get(member)!]));
  const free: number[] = [];
  for (const [number, owner] of owners.entries()) (byId.get(owner ?? "") ?? free).push(number);
  const least = Math.floor(owners.length / members.length);
  // Those that have more keep it, where the parts cannot be equal.
  const ordered = [...parts].sort(([a, mine], [b, other]) => other.length - mine.length || sizeOf(a) - sizeOf(b));
  const open = ordered.map(([, part], place) => {
    const most = least + (place < owners.length % members.length ? 1 : 0);
    free.push(...part.splice(most));
    return { part, most };
  });
  for (const number of free.sort((a, b) => a - b)) {
    const [next] = open.filter(({ part, most }) => part.length < most).sort((a, b) => a.part.length - b.part.length);
    next?.part.push(number);
  }
  return parts;
}

/** The partitions that a member has already. */
function sizeOf({ assignments }: Share): number {
  return [...assignments.values()].reduce((sum, { partitions }) => sum + partitions.length, 0);
}
