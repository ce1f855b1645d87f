/** True in `npm test -- --all`, which adds what takes long. */
export const isLong = process.env["STOA_LONG"] === "1";
