import { type SnakeCase, snakeCase } from "../../internal/names.js";

/** The fields of a config class in the spelling of the contract. */
export type ContractFields<T> = { readonly [K in keyof T as K extends string ? SnakeCase<K> : never]: T[K] };

/** Lets the fields of a config be read in the spelling of the contract too. */
export function addContractFields(prototype: object, names: readonly string[]): void {
  for (const name of names) {
    const contract = snakeCase(name);
    if (contract === name) continue;
    Object.defineProperty(prototype, contract, {
      get(this: Record<string, unknown>) {
        return this[name];
      },
    });
  }
}
