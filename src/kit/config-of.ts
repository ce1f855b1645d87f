declare const configName: unique symbol;

/**
 * An instance of the config class `Name`. Each config class has this member for the compiler alone; it does not exist at
 * run time. Functions that take a config or its options name the config by this type and not by its class: editors show
 * the comment of an option only if a single member of the parameter's union has a member of that name.
 */
export interface ConfigOf<Name extends string> {
  readonly [configName]: Name;
}
