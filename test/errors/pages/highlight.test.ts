import fc from "fast-check";
import { expect, it } from "vitest";
import { highlight } from "../../../src/errors/pages/highlight.js";
import { escapeHtml } from "../../../src/kit/pages/escape-html.js";

it.each([
  ["const a = 1;", '<span class="word">const</span> a = <span class="number">1</span>;'],
  [
    "f('<b>'); // a <note>",
    'f(<span class="text">&#39;&lt;b&gt;&#39;</span>); <span class="comment">// a &lt;note&gt;</span>',
  ],
  ['"a \\" // b" + constant', '<span class="text">&quot;a \\&quot; // b&quot;</span> + constant'],
  ["`open", '<span class="text">&#96;open</span>'],
])("The line %s is shown in colours", (line, html) => {
  expect(highlight(line)).toBe(html);
});

it("Any line is shown with all of its text and nothing else", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (line) => {
      expect(highlight(line).replaceAll(/<span class="\w+">|<\/span>/g, "")).toBe(escapeHtml(line));
    }),
  );
});
