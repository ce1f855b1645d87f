/** The state of a replica for health checks and metrics. */
export interface ReplicaStats {
  /** Host, port and database. */
  readonly address: string;
  /** True if reads go to it. */
  readonly usable: boolean;
  /** Time that it was behind the primary at its last check. */
  readonly lagMs: number;
}
