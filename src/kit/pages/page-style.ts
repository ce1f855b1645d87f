/**
 * The ground of all pages: colours, fonts and a reset. It stands inline, since pages load nothing. Colours of text meet
 * WCAG AA on their backgrounds, in light and in dark.
 */
export const pageGround = `
:root {
  color-scheme: light dark;
  --ground: #f6f5f1; --card: #fffefb; --ink: #1e1d1a; --soft: #68655d; --line: #e4e1d8; --hover: #f4f1e9;
  --accent: #a8461c; --accent-soft: #f6e6dc;
  --green: #2c6e3f; --blue: #28599b; --amber: #8a5a00; --red: #b3261e; --violet: #6b4596;
  --green-ground: #e5f1e6; --blue-ground: #e4edf7; --amber-ground: #f9eed5; --red-ground: #fbe6e3; --violet-ground: #efe7f7;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #151412; --card: #1d1c19; --ink: #ebe8e1; --soft: #a29d92; --line: #312f2a; --hover: #26241f;
    --accent: #f0956a; --accent-soft: #3a261c;
    --green: #85c996; --blue: #90b8ee; --amber: #e6b45c; --red: #ff8f85; --violet: #c3a3ec;
    --green-ground: #1d2f22; --blue-ground: #1c2939; --amber-ground: #352a14; --red-ground: #3b201e; --violet-ground: #2c2338;
  }
}
* { box-sizing: border-box; margin: 0; padding: 0; }
html { -webkit-text-size-adjust: 100%; }
body { background: var(--ground); color: var(--ink); font: 15px/1.5 var(--sans); }
ul, ol { list-style: none; }
code { font: 0.9em var(--mono); background: var(--hover); border-radius: 0.25rem; padding: 0.1rem 0.3rem; overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;
