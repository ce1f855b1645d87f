import { contract, contractVersion, type Feature } from "../feature/feature.js";
import { Request } from "../http/request.js";
import { snakeCase } from "../kit/names.js";
import { show } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import { ownRouteOptions } from "../routing/options.js";
import { features } from "./features.js";

/** The members that every request has: a feature cannot take their names. */
const sample = new Request({ method: "GET", path: "/" } as Request["source"]);
const builtIn = new Set([
  ...Object.keys(sample),
  ...Object.getOwnPropertyNames(Request.prototype),
  // Added to the prototype after this.
  ...features.flatMap(({ members }) => members.request),
]);

/** The options of routes, which a feature cannot replace. */
const builtInOptions = [...ownRouteOptions, ...features.flatMap(({ members }) => members.routes)];

/** Checks that an application can take a feature from outside. */
export function assertInstallable(app: object, installed: readonly Feature[], feature: Feature): void {
  const version: unknown = (feature as Partial<Feature> | null | undefined)?.[contract];
  if (version === undefined) {
    throw new ValueError(
      `app.install() takes a feature, made with feature() or engine() of stoa/feature or defineBroker() of stoa/messaging, not ${show(feature)}`,
    );
  }
  const { name } = feature;
  if (version !== contractVersion) {
    throw new ValueError(
      `the feature ${name} is made for version ${String(version)} of the feature contract, and this is version ` +
        `${contractVersion}: install a version of it that fits this version of Stoa`,
    );
  }
  if (installed.includes(feature)) throw new ValueError(`the feature ${name} is installed already`);
  const ofOthers = new Set(installed.flatMap(({ members }) => members.request));
  assertFree(feature.members.app, (member) => member in app, `the feature ${name} cannot add app.`);
  assertFree(
    feature.members.request,
    (member) => builtIn.has(member) || ofOthers.has(member),
    `the feature ${name} cannot add request.`,
  );
  const takenOptions = new Set([...builtInOptions, ...installed.flatMap(({ members }) => members.routes)]);
  assertFree(
    feature.members.routes,
    (option) => takenOptions.has(option),
    `the feature ${name} cannot add the route option `,
  );
}

function assertFree(members: readonly string[], isTaken: (member: string) => boolean, message: string): void {
  const taken = members.flatMap((member) => [member, snakeCase(member)]).find(isTaken);
  if (taken !== undefined) throw new ValueError(`${message}${taken}: the name is taken`);
}
