import { type Browser, chromium } from "playwright-core";
import { service } from "../support/service.js";

/** A browser of a test file. Which files need one is told by `service("chromium")` in their text. */
export function openBrowser(...args: string[]): Promise<Browser> {
  const executablePath = service("chromium") as string;
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", ...args] });
}
