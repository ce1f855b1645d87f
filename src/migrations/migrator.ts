import type { Database, Queries, Session } from "../engines/db/database.js";
import { options as declare, type OptionsOf, option } from "../kit/config.js";
import { type Check, is } from "../kit/options.js";
import { milliseconds } from "../kit/time/duration.js";
import type { SchemaState } from "../orm/schema/state.js";
import type { MigrationEvent } from "./event.js";
import { execute } from "./executor.js";
import { MigrationFailure } from "./failure.js";
import { loadMigrations, readMigration } from "./files/load.js";
import { scriptBetween, sqlScript, statementsOf } from "./files/sql-script.js";
import { compareHistory, type History, requireSound } from "./history.js";
import { inTurn, withLock } from "./lock.js";
import type { Migration } from "./operation.js";
import { type MigratorOptions, type MigratorSettings, readMigratorOptions } from "./options.js";
import { chooseDown, chooseUp, type Direction, type PlannedMigration, planDown, planUp, stateAfter } from "./plan.js";
import { Recorder } from "./recorder.js";
import { type MigrationStatus, statusOf } from "./status.js";

const isNull: Check<null> = (value) => (value === null ? undefined : "null");
const orNull = is.either(is.text, isNull);

const upOptions = declare("up()", {
  /** The last migration to apply, with all that it depends on; the last of all by default. */
  to: option(is.text),
  /** Returns the steps without running them. */
  dryRun: option(is.boolean, false),
  /** Records the migrations without running them, if their changes were made by hand. */
  fake: option(is.boolean, false),
});

const downOptions = declare("down()", {
  /** The migration to go back to, which stays applied; null to undo all. */
  to: option(orNull),
  /** The number of migrations to undo if no target is given; 1 by default. */
  steps: option(is.integer(1)),
  dryRun: option(is.boolean, false),
  /** Removes the records of the migrations without undoing them. */
  fake: option(is.boolean, false),
});

const sqlOptions = declare("sql()", {
  /** The migration to start after, whatever the database has; null for an empty database. */
  from: option(orNull),
  /** The migration to end with; null for an empty database. If it comes before `from`, the script undoes migrations. */
  to: option(orNull),
  /** Returns the statements of `down`. */
  down: option(is.boolean, false),
  steps: option(is.integer(1)),
});

export interface UpOptions extends OptionsOf<typeof upOptions.fields> {}
export interface DownOptions extends OptionsOf<typeof downOptions.fields> {}
export interface SqlOptions extends OptionsOf<typeof sqlOptions.fields> {}

/** A migration that was applied or undone, or would be. */
export interface MigrationStep {
  readonly name: string;
  readonly direction: Direction;
  readonly transaction: boolean;
  readonly operations: readonly string[];
  /** The statements; a comment stands for a function. */
  readonly statements: readonly string[];
}

/** Applies and undoes migrations. */
export class Migrator {
  readonly #database: Database;
  readonly #options: MigratorSettings;
  readonly #recorder: Recorder;
  #migrations: Promise<readonly Migration[]> | null = null;

  constructor(database: Database, options: MigratorOptions) {
    this.#options = readMigratorOptions([options], "Migrator");
    this.#database = database;
    this.#recorder = new Recorder(this.#options.table);
  }

  /** Returns all migrations with their status in the database. */
  async status(): Promise<MigrationStatus[]> {
    return statusOf(await this.#history(this.#database));
  }

  /** Returns the schema after the applied migrations. */
  async state(): Promise<SchemaState> {
    return stateAfter((await this.#soundHistory(this.#database)).applied);
  }

  /** Returns the steps of `up` without running them. */
  async plan(options: Pick<UpOptions, "to"> = {}): Promise<MigrationStep[]> {
    return planUp(await this.#soundHistory(this.#database), options.to).map(stepOf);
  }

  /** Applies all pending migrations. Safe to call from several processes at once: one works, the others wait. */
  async up(options: UpOptions = {}): Promise<MigrationStep[]> {
    const { to, dryRun, fake } = upOptions.read([options]);
    if (dryRun) return this.plan({ to });
    const isIdle = (history: History): boolean =>
      chooseUp(history, to).length === 0 && history.graph.adopted.length + history.leftover.length === 0;
    return this.#locked(isIdle, async (session) => {
      await this.#recorder.create(session);
      const history = await this.#soundHistory(session);
      await this.#adopt(session, history);
      if (fake) return this.#fake(session, "up", chooseUp(history, to));
      return this.#run(session, planUp(history, to));
    });
  }

  /** Undoes the last migration, or several. */
  async down(options: DownOptions = {}): Promise<MigrationStep[]> {
    const { dryRun, fake, ...target } = downOptions.read([options]);
    if (dryRun) return planDown(await this.#soundHistory(this.#database), target).map(stepOf);
    const isIdle = (history: History): boolean => chooseDown(history, target).length === 0;
    return this.#locked(isIdle, async (session) => {
      const history = await this.#soundHistory(session);
      if (fake) return this.#fake(session, "down", chooseDown(history, target));
      return this.#run(session, planDown(history, target));
    });
  }

  /** Returns the statements of `up` or `down` as a script. */
  async sql(options: SqlOptions = {}): Promise<string> {
    const { from, to, down, steps } = sqlOptions.read([options]);
    if (from !== undefined) return scriptBetween(await this.#load(), this.#recorder, from, to);
    const history = await this.#soundHistory(this.#database);
    const plan = down ? planDown(history, { to, steps }) : planUp(history, to ?? undefined);
    return sqlScript(plan, this.#recorder);
  }

  async #run(session: Session, plan: readonly PlannedMigration[]): Promise<MigrationStep[]> {
    const finished: string[] = [];
    for (const planned of plan) {
      const { direction, migration } = planned;
      const { name } = migration;
      this.#tell({ type: "start", name, direction });
      const durationMs = await execute(session, planned, {
        recorder: this.#recorder,
        tableLockMs: milliseconds(this.#options.tableLockTimeout),
        onOperation: (_, { operation: { description } }) =>
          this.#tell({ type: "operation", name, direction, description }),
      }).catch((error: unknown) => {
        throw new MigrationFailure(planned, finished, error);
      });
      finished.push(name);
      this.#tell({ type: "done", name, direction, durationMs });
    }
    return plan.map(stepOf);
  }

  async #fake(session: Session, direction: Direction, migrations: readonly Migration[]): Promise<MigrationStep[]> {
    await session.transaction(async (tx) => {
      for (const migration of migrations) {
        if (direction === "up") await this.#recorder.applied(tx, migration, 0);
        else await this.#recorder.remove(tx, [migration.name, ...migration.replaces]);
      }
    });
    for (const { name } of migrations) this.#tell({ type: "done", name, direction, durationMs: null });
    return migrations.map((migration) => stepOf({ migration, direction, operations: [] }));
  }

  /** Records squashed migrations whose parts are applied, and forgets parts that have no file any more. */
  async #adopt(session: Session, { graph, leftover }: History): Promise<void> {
    if (graph.adopted.length + leftover.length === 0) return;
    await session.transaction(async (tx) => {
      for (const migration of graph.adopted) await this.#recorder.applied(tx, migration, 0);
      await this.#recorder.remove(tx, leftover);
    });
    for (const { name } of graph.adopted) this.#tell({ type: "adopted", name });
  }

  /**
   * Runs a function while no other process migrates this database. Does not run it if a check shows that there is nothing to
   * do.
   */
  #locked(
    isIdle: (history: History) => boolean,
    run: (session: Session) => Promise<MigrationStep[]>,
  ): Promise<MigrationStep[]> {
    const options = {
      name: this.#recorder.table,
      timeoutMs: milliseconds(this.#options.lockTimeout),
      signal: this.#options.signal,
      onWait: () => this.#tell({ type: "waiting" }),
    };
    return inTurn(this.#database, options, async () => {
      if (isIdle(await this.#soundHistory(this.#database))) return [];
      return withLock(this.#database, options, run);
    });
  }

  async #soundHistory(db: Queries): Promise<History> {
    const history = await this.#history(db);
    requireSound(history, this.#options.allowDrift ?? false);
    return history;
  }

  async #history(db: Queries): Promise<History> {
    const migrations = await this.#load();
    return compareHistory(migrations, await this.#recorder.read(db));
  }

  #load(): Promise<readonly Migration[]> {
    const { directory, migrations = {} } = this.#options;
    this.#migrations ??=
      directory === undefined
        ? Promise.resolve(Object.entries(migrations).map(([name, given]) => readMigration(name, given)))
        : loadMigrations(directory);
    return this.#migrations;
  }

  #tell(event: MigrationEvent): void {
    this.#options.onEvent?.(event);
  }
}

/** Applies all pending migrations, for the start of an application. */
export function migrate(database: Database, options: MigratorOptions): Promise<MigrationStep[]> {
  return new Migrator(database, options).up();
}

function stepOf(planned: PlannedMigration): MigrationStep {
  const { migration, direction, operations } = planned;
  return {
    name: migration.name,
    direction,
    transaction: migration.transaction,
    operations: operations.map(({ operation }) => operation.description),
    statements: statementsOf(planned),
  };
}
