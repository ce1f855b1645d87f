import type { GroupOffset } from "../partition.js";
import { isRebalance } from "../translate-error.js";
import type { Assignment } from "./assignment.js";
import { Commits } from "./commits.js";
import type { Membership } from "./membership.js";
import { writeProgress } from "./progress.js";

/** Milliseconds until the group is told of messages that are done behind one that is not. */
const behindPause = 1000;

interface GroupCommitsParts {
  readonly assignment: Assignment;
  readonly membership: Membership;
  /** The name of this program in the metadata of offsets. */
  readonly owner: string;
  /** True for a group that ends with the process: nothing is committed. */
  readonly broadcast: boolean;
  /** The group takes commits again. */
  accepted(): void;
  failed(error: unknown): void;
}

/** Commits what is done in the partitions of a consumer. */
export class GroupCommits {
  readonly #parts: GroupCommitsParts;
  readonly #commits: Commits;
  readonly #behind: NodeJS.Timeout;
  /** Transactions that are about to move offsets: an earlier offset must not be committed after them. */
  #transactions = 0;

  constructor(parts: GroupCommitsParts) {
    this.#parts = parts;
    const { assignment, accepted, failed } = parts;
    this.#commits = new Commits({
      take: (all) => this.#take(all),
      restore: (offsets) => assignment.touch(offsets.keys()),
      commit: (offsets) => this.#commit(offsets),
      accepted,
      failed,
    });
    this.#behind = setInterval(() => this.soon(), behindPause).unref();
  }

  /** True while the group takes no commits. */
  get isRefused(): boolean {
    return this.#commits.isRefused;
  }

  soon(): void {
    this.#commits.soon();
  }

  /** Resolves when all that is due now is committed; to false if the group did not take it. */
  flush(): Promise<boolean> {
    return this.#commits.flush();
  }

  /** These partitions are now ours. */
  async takeOver(numbers: readonly number[]): Promise<void> {
    const { assignment } = this.#parts;
    // A partition without an offset would begin at the end or the start again when the group is shared again.
    assignment.touch(numbers);
    // Those alone: a caller that waits for a flush relies on its own request for all others.
    const offsets = this.#take(true, numbers);
    try {
      await this.#commit(offsets);
    } catch (error) {
      if (!isRebalance(error)) throw error;
      assignment.touch(offsets.keys());
    }
  }

  /** Tells the next owners of the partitions what is done. False if the group does not take it now. */
  handOver(): Promise<boolean> {
    const { assignment } = this.#parts;
    assignment.freeze(assignment.numbers);
    return this.flush();
  }

  /** Commits other offsets than those of the messages that were done. */
  async moveTo(targets: ReadonlyMap<number, bigint>): Promise<void> {
    const { owner, broadcast, membership } = this.#parts;
    if (broadcast) return;
    const offsets = [...targets].map(([number, offset]) => {
      return [number, { offset, metadata: writeProgress(offset, owner, null, []) }] as const;
    });
    await membership.commit(new Map(offsets));
  }

  /** A transaction is about to move offsets. */
  async beginTransaction(): Promise<void> {
    this.#transactions++;
    await this.flush();
  }

  endTransaction(): void {
    if (this.#transactions > 0) this.#transactions--;
  }

  stop(): void {
    clearInterval(this.#behind);
  }

  #take(all: boolean, numbers?: readonly number[]): Map<number, GroupOffset> {
    if (this.#transactions > 0) return new Map();
    const offsets = this.#parts.assignment.takeCommittable(all, numbers);
    if (!this.#parts.broadcast) return offsets;
    for (const { confirmed } of offsets.values()) confirmed?.();
    return new Map();
  }

  async #commit(offsets: ReadonlyMap<number, GroupOffset>): Promise<void> {
    await this.#parts.membership.commit(offsets);
    for (const { confirmed } of offsets.values()) confirmed?.();
  }
}
