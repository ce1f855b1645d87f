/** One line of the report. `-` is neither good nor bad: a package that nothing uses. */
export interface Finding {
  readonly state: "ok" | "-" | "warning" | "wrong";
  readonly subject: string;
  readonly text: string;
}
