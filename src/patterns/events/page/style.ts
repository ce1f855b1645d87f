/** Inline, since the page loads nothing. Colours of text meet WCAG AA on their backgrounds, in light and in dark. */
export const eventPageStyle = `
:root {
  color-scheme: light dark;
  --ground: #f6f5f1; --card: #fffefb; --ink: #1e1d1a; --soft: #68655d; --line: #e4e1d8;
  --accent: #a8461c; --green: #2c6e3f; --amber: #8a5a00; --red: #b3261e; --code: #f4f1e9;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #151412; --card: #1d1c19; --ink: #ebe8e1; --soft: #a29d92; --line: #312f2a;
    --accent: #f0956a; --green: #85c996; --amber: #e6b45c; --red: #ff8f85; --code: #26241f;
  }
}
* { box-sizing: border-box; margin: 0; padding: 0; }
body { background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif; padding: 0 1.5rem 2rem; max-width: 98rem; margin: 0 auto; }
a { color: var(--accent); text-underline-offset: 0.15em; }
.line a { overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1.25rem; padding: 1.25rem 0; }
h1 { font-size: 1.3rem; font-weight: 650; overflow-wrap: anywhere; }
h1 a { color: inherit; text-decoration: none; }
h1 span { color: var(--soft); font-weight: 400; }
form { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem; font-size: 0.875rem; }
input:not([type="checkbox"]), button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.3rem 0.7rem; max-width: 100%; }
button { cursor: pointer; font-weight: 550; }
.check { color: var(--soft); white-space: nowrap; }
.facts a { margin-left: 0.75rem; }
.facts { color: var(--soft); font-size: 0.875rem; margin-left: auto; font-variant-numeric: tabular-nums; }
main { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 34rem); gap: 1rem; align-items: start; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 0.8rem; overflow: hidden; }
.side { display: grid; gap: 1rem; min-width: 0; }
h2 { font-size: 0.875rem; font-weight: 600; padding: 0.8rem 1.1rem; border-bottom: 1px solid var(--line); }
ol { list-style: none; }
li { padding: 0.7rem 1.1rem; border-bottom: 1px solid var(--line); }
li:last-child { border-bottom: 0; }
.line { overflow-wrap: anywhere; }
.soft { color: var(--soft); font-size: 0.8125rem; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.depth-1 { padding-left: 2.6rem; } .depth-2 { padding-left: 4.1rem; } .depth-3 { padding-left: 5.6rem; } .depth-4 { padding-left: 7.1rem; }
.depth-5 { padding-left: 8.6rem; } .depth-6 { padding-left: 10.1rem; } .depth-7 { padding-left: 11.6rem; } .depth-8 { padding-left: 13.1rem; }
code, pre { font: 0.8125rem/1.5 ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { background: var(--code); border-radius: 0.4rem; padding: 0.5rem 0.7rem; margin-top: 0.4rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 30rem; }
summary { cursor: pointer; color: var(--soft); font-size: 0.8125rem; margin-top: 0.2rem; width: fit-content; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 0.8125rem; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--soft); font-weight: 550; }
th, td { padding: 0.45rem 1.1rem; vertical-align: top; }
td { border-top: 1px solid var(--line); overflow-wrap: anywhere; }
td:first-child { overflow-wrap: break-word; }
.empty { color: var(--soft); padding: 1rem 1.1rem; font-size: 0.875rem; }
.good { color: var(--green); } .warning { color: var(--amber); } .bad { color: var(--red); font-weight: 600; }
@media (max-width: 62rem) { main { grid-template-columns: minmax(0, 1fr); } body { padding: 0 0.75rem 1.5rem; } .facts { margin-left: 0; } .depth-5, .depth-6, .depth-7, .depth-8 { padding-left: 7.1rem; } }
@media (max-width: 34rem) { li[class^="depth-"]:not(.depth-0) { padding-left: 2.1rem; border-left: 3px solid var(--line); } th, td { padding: 0.45rem 0.6rem; } }
`;
