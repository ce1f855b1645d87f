import { inlinePolicy, pageScript } from "../../internal/inline-page.js";
import { pageMarkup } from "./page-markup.js";
import { pageStyle } from "./page-style.js";

export interface LivePage {
  readonly html: string;
  readonly contentSecurityPolicy: string;
}

/** The page: one document that loads nothing but its own events. */
export async function livePage(): Promise<LivePage> {
  const script = await pageScript("batteries", "live", "client.js");
  return { html: pageMarkup(pageStyle, script), contentSecurityPolicy: inlinePolicy(pageStyle, script) };
}
