import type { Check } from "../../kit/options.js";
import { isRecord } from "../../kit/own-property.js";
import type { Queries } from "./database.js";

export const isQueries: Check<Queries> = (value) =>
  isRecord(value) && typeof value["fetchArrays"] === "function" ? undefined : "a transaction, a session or a database";
