import type { Queries } from "../../../engines/db/database.js";
import { ForbiddenError } from "../../../errors/http-error.js";
import { type JsonBody, readJsonBody } from "../../../orm/body/json-body.js";
import { type BodyField, bodyFields, invalidJson, readFields } from "../../../orm/body/model-body.js";
import { StaleError } from "../../../orm/errors.js";
import { orConflict, orNotFound } from "../../../orm/http-errors.js";
import type { ColumnMeta } from "../../../orm/meta.js";
import { QuerySet } from "../../../orm/query/queryset.js";
import { assign, remove, save } from "../../../orm/run/persist.js";
import { exists } from "../../../orm/run/read.js";
import { stateOf, type Values } from "../../../orm/run/state.js";
import { versionColumn } from "../../../orm/run/version.js";
import { maxIssues } from "../../../validation/issues.js";
import type { GraphqlContext } from "../context.js";
import { GraphQLError } from "../graphql-js.js";
import type { ExposedModel } from "./exposed-model.js";
import { badInput } from "./filters.js";
import type { MutationOptions } from "./options.js";
import { type Rows, translated } from "./rows.js";

/** The row that an update or a delete changes. */
export interface Target {
  readonly id: string;
  /** The version that the client has read. */
  readonly version?: unknown;
}

/** The input of a mutation: the columns that it takes, checked as the body of a request is. */
export class Input {
  readonly #fields: readonly BodyField[];
  readonly #exactly: boolean;

  constructor(
    readonly columns: readonly ColumnMeta[],
    partial: boolean,
    readonly values: MutationOptions["values"],
  ) {
    this.#fields = bodyFields(columns, partial);
    this.#exactly = this.#fields.some(({ exact }) => exact);
  }

  read(given: unknown): Values {
    // Scalars have made dates and big integers of what the client sent; the checks take JSON.
    const text = JSON.stringify(given, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value));
    const body: JsonBody | undefined = readJsonBody(Buffer.from(text), this.#exactly, maxIssues);
    const result = body === undefined ? invalidJson : readFields(this.#fields, body);
    if ("value" in result) return result.value;
    const [first] = result.issues;
    const message = first === undefined ? "The input is not valid." : `${first.loc.join(".")}: ${first.msg}`;
    throw new GraphQLError(message, {
      extensions: { code: "BAD_USER_INPUT", status: 400, detail: result.issues },
    });
  }
}

/**
 * Writes rows of an exposed model that a client may see, before and after the write. Each mutation is a transaction. Hooks
 * of the model run.
 */
export class Writes {
  /** `referred` has the rows that a foreign key may refer to, where not all of them are visible. */
  constructor(
    private readonly exposed: ExposedModel,
    private readonly rows: Rows,
    private readonly referred: (column: ColumnMeta) => Rows | null,
  ) {}

  create(context: GraphqlContext, input: Input, given: unknown): Promise<object> {
    return this.#write(context, async (tx) => {
      const values = await this.#values(context, input, given);
      const instance = new this.exposed.model.meta.model();
      assign(instance, this.exposed.model.meta, values);
      await this.#save(instance, context, tx);
      return instance;
    });
  }

  update(context: GraphqlContext, target: Target, input: Input, given: unknown): Promise<object> {
    return this.#write(context, async (tx) => {
      const values = await this.#values(context, input, given);
      const instance = await this.#locked(context, tx, target);
      assign(instance, this.exposed.model.meta, values);
      await this.#save(instance, context, tx);
      return instance;
    });
  }

  delete(context: GraphqlContext, target: Target): Promise<string> {
    return this.#write(context, async (tx) => {
      const instance = await this.#locked(context, tx, target);
      await remove(instance, false);
      return target.id;
    });
  }

  async #write<T>(context: GraphqlContext, work: (tx: Queries) => Promise<T>): Promise<T> {
    try {
      return await translated(() => orConflict(orNotFound(context.db.transaction(work) as Promise<T>)));
    } finally {
      // What was loaded before may be another row now.
      context.forgetLoaded();
    }
  }

  /** The values of the client and those that the application adds. */
  async #values(context: GraphqlContext, input: Input, given: unknown): Promise<Values> {
    const values = input.read(given);
    for (const column of input.columns) {
      const key = values[column.attribute];
      const rows = key === undefined || key === null ? null : this.referred(column);
      // The same error as for a row that does not exist: a client must not see a difference.
      if (rows && !(await rows.one(context, key))) {
        throw badInput(`${column.attribute}: There is no such resource.`);
      }
    }
    return { ...values, ...(await input.values?.(context)) };
  }

  /** The visible row, locked against other changes until the end of the transaction. */
  async #locked(context: GraphqlContext, tx: Queries, { id, version }: Target): Promise<object> {
    const query = await this.rows.keyed(context, id);
    const instance = (await new QuerySet<object>({ ...query, db: tx }).forUpdate().first()) as object | null;
    if (instance === null) return orNotFound(Promise.resolve(null));
    const column = versionColumn(this.exposed.model.meta);
    const current = column && (instance as Values)[column.attribute];
    if (version !== undefined && String(current) !== String(version)) {
      throw new StaleError(`${this.exposed.model.meta.name} was changed since it was read`);
    }
    return instance;
  }

  async #save(instance: object, context: GraphqlContext, tx: Queries): Promise<void> {
    const { meta } = this.exposed.model;
    await save(instance, { using: tx }, context.db);
    // Relations of the row are read after the transaction.
    stateOf(instance).db = context.db;
    if (!this.rows.restricted) return;
    const key = (instance as Values)[meta.primaryKey[0]!.attribute];
    const query = await this.rows.keyed(context, key);
    if (!(await exists({ ...query, db: tx }))) throw new ForbiddenError("The resource may not have these values.");
  }
}
