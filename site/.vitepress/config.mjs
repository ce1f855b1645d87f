import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { contents, llmsFullText, llmsText } from "../../scripts/llms.mjs";
import { referencePages } from "../../scripts/reference.mjs";

/** Other files of the repository are not part of the site: links to them become plain text. */
const isOutside = (address) => address.startsWith("../") || address.endsWith(".pml");

function adapted(markdown) {
  // Comments hold what the tests of the pages need.
  markdown.core.ruler.after("normalize", "comments", (state) => {
    state.src = state.src.replace(/<!--[\s\S]*?-->/g, "");
  });
  markdown.core.ruler.after("inline", "outside", ({ tokens }) => {
    for (const { children } of tokens) {
      for (const [index, token] of (children ?? []).entries()) {
        if (token.type !== "link_open" || !isOutside(token.attrGet("href"))) continue;
        const close = children.findIndex(({ type }, at) => at > index && type === "link_close");
        for (const one of [token, children[close]])
          Object.assign(one, { type: "text", tag: "", content: "", nesting: 0 });
      }
    }
  });
}

/** A portico: a roof on three columns. */
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="#3b6ea5"><path d="M8 1 15 5H1zM2 13h12v2H2zM3 6h2v6H3zM7 6h2v6H7zM11 6h2v6h-2z"/></svg>`;

const sections = contents();
const reference = referencePages().map(({ name, file }) => ({
  text: name,
  link: `/reference/${file.replace(/\.md$/, "")}`,
}));

export default {
  title: "Stoa",
  description: "A batteries-included web framework for TypeScript on Node.js",
  lang: "en",
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  srcDir: "../docs",
  outDir: "dist",
  rewrites: { "README.md": "index.md" },
  markdown: { html: false, config: adapted },
  themeConfig: {
    nav: [
      { text: "Start", link: "/getting-started" },
      { text: "Guide", link: "/guide" },
      { text: "Errors", link: "/error-codes" },
      { text: "Reference", link: reference[0].link },
    ],
    sidebar: [
      ...sections.map(({ title, pages }, index) => ({
        text: title,
        collapsed: index > 1,
        items: pages.map(({ title: text, file }) => ({ text, link: `/${file.replace(/\.md$/, "")}` })),
      })),
      { text: "Reference", collapsed: true, items: reference },
    ],
    outline: [2, 3],
    search: { provider: "local" },
    footer: { message: "MIT licensed." },
  },
  buildEnd({ outDir }) {
    writeFileSync(
      join(outDir, "llms.txt"),
      llmsText((file) => file.replace(/md$/, "html")),
    );
    writeFileSync(join(outDir, "llms-full.txt"), llmsFullText());
  },
};
