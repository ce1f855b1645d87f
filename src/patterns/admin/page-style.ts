/** Inline, since the page loads nothing. Colours of text meet WCAG AA on their backgrounds, in light and in dark. */
export const pageStyle = `
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
body { background: var(--ground); color: var(--ink); font: 15px/1.5 var(--sans); padding: 0 1.5rem 2rem; max-width: 80rem; margin: 0 auto; }
[hidden] { display: none !important; }
ul, ol { list-style: none; }
button, input { font: inherit; color: inherit; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
header { display: flex; align-items: center; gap: 0.5rem 1.25rem; padding: 1.25rem 0; }
.brand { display: flex; align-items: center; gap: 0.6rem; color: inherit; text-decoration: none; flex: 1; }
.logo { width: 1.6rem; height: 1.6rem; fill: var(--accent); }
h1 { font-size: 1.3rem; font-weight: 650; letter-spacing: -0.02em; line-height: 1; }
h1 span { color: var(--soft); font-weight: 400; }
#state { color: var(--soft); font-size: 0.8125rem; font-variant-numeric: tabular-nums; }
#state.bad { color: var(--red); font-weight: 600; }
.panel { background: var(--card); border: 1px solid var(--line); border-radius: 0.8rem; overflow: hidden; }
#back { margin-bottom: 0.75rem; font-size: 0.875rem; }
#back a { color: var(--accent); }
.panel + .panel { margin-top: 1rem; }
.bar { display: flex; align-items: center; gap: 0.6rem 1rem; flex-wrap: wrap; padding: 0.75rem 1.1rem; border-bottom: 1px solid var(--line); }
.chips { display: flex; flex-wrap: wrap; border: 1px solid var(--line); border-radius: 0.5rem; overflow: hidden; }
.chips button { background: none; border: 0; padding: 0.2rem 0.65rem; font-size: 0.8125rem; color: var(--soft); cursor: pointer; }
.chips button:hover { background: var(--hover); }
.chips button[aria-pressed="true"] { background: var(--accent-soft); color: var(--accent); font-weight: 600; }
#name { background: var(--ground); border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.22rem 0.7rem; font-size: 0.8125rem; width: 12rem; margin-left: auto; }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 0.8125rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--soft); font-size: 0.75rem; padding: 0.5rem 0.6rem; }
td { padding: 0.4rem 0.6rem; border-top: 1px solid var(--line); white-space: nowrap; max-width: 22rem; overflow: hidden; text-overflow: ellipsis; }
th:first-child, td:first-child { padding-left: 1.1rem; }
th:last-child, td:last-child { padding-right: 1.1rem; }
tbody tr:hover > td { background: var(--hover); }
td a { font: 0.8125rem/1.5 var(--mono); color: var(--accent); text-decoration: none; }
td a:hover { text-decoration: underline; }
.empty { color: var(--soft); font-size: 0.8125rem; padding: 1rem 1.1rem; }
#more, .actions button { background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.3rem 0.85rem; font-size: 0.8125rem; font-weight: 550; cursor: pointer; }
#more { margin: 0.75rem 1.1rem; }
#more:hover, .actions button:hover { background: var(--hover); }
td .actions button { padding: 0 0.6rem; }
td.bad { white-space: pre-wrap; overflow-wrap: anywhere; max-width: none; min-width: 14rem; }
.actions { display: flex; gap: 0.5rem; flex-wrap: wrap; }
.actions button.danger { color: var(--red); }
.badge { font-size: 0.75rem; font-weight: 600; border-radius: 0.35rem; padding: 0.1rem 0.5rem; background: var(--hover); color: var(--soft); white-space: nowrap; }
.completed, .done { background: var(--green-ground); color: var(--green); }
.running, .waiting, .active { background: var(--blue-ground); color: var(--blue); }
.compensating, .compensated, .undone, .undoing { background: var(--violet-ground); color: var(--violet); }
.parked, .failed { background: var(--red-ground); color: var(--red); }
.aborted, .cancelled, .unknown { background: var(--amber-ground); color: var(--amber); }
.bad { color: var(--red); }
.soft { color: var(--soft); }
.top { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; padding: 1rem 1.1rem; }
.top h2 { font-size: 1.1rem; font-weight: 650; letter-spacing: -0.01em; overflow-wrap: anywhere; }
.top code { font: 0.8125rem var(--mono); color: var(--soft); overflow-wrap: anywhere; flex: 1; }
.facts { display: flex; flex-wrap: wrap; gap: 0.2rem 1.5rem; padding: 0 1.1rem 0.9rem; font-size: 0.8125rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.facts a { color: var(--accent); }
.error { color: var(--red); padding: 0 1.1rem 0.9rem; font-size: 0.875rem; overflow-wrap: anywhere; white-space: pre-wrap; }
h3 { font-size: 0.875rem; font-weight: 600; padding: 0.75rem 1.1rem; border-bottom: 1px solid var(--line); }

/* The drawing: a line from step to step, the way back beside it. */
.flow { padding: 0.9rem 1.1rem; }
.unit { display: grid; grid-template-columns: 1.4rem 1.4rem minmax(0, 15rem) minmax(0, 1fr); gap: 0 0.6rem; position: relative; padding-bottom: 0.9rem; }
.unit > .rail { position: relative; }
.rail::before { content: ""; position: absolute; left: 50%; top: 0.2rem; bottom: -1.1rem; border-left: 2px solid var(--line); transform: translateX(-50%); }
.unit:last-child > .rail::before { display: none; }
.unit.went > .rail::before { border-color: var(--green); }
.mark { position: absolute; left: 50%; top: 0.2rem; width: 1.1rem; height: 1.1rem; border-radius: 50%; transform: translateX(-50%); background: var(--card); border: 2px solid var(--line); z-index: 1; }
.mark svg { display: block; width: 100%; height: 100%; stroke: var(--card); stroke-width: 2.5; fill: none; stroke-linecap: round; stroke-linejoin: round; }
.unit[data-state="done"] .mark { background: var(--green); border-color: var(--green); }
.unit[data-state="failed"] .mark, .unit[data-state="parked"] .mark { background: var(--red); border-color: var(--red); }
.unit[data-state="active"] .mark, .unit[data-state="waiting"] .mark { border-color: var(--blue); background: var(--blue-ground); }
.unit[data-state="undone"] .mark, .unit[data-state="undoing"] .mark { background: var(--violet); border-color: var(--violet); }
.unit[data-state="unknown"] .mark { background: var(--amber); border-color: var(--amber); }
@media (prefers-reduced-motion: no-preference) { .unit[data-state="active"] .mark { animation: breathe 1.6s ease-in-out infinite; } }
@keyframes breathe { 50% { opacity: 0.45; } }
.back { position: relative; }
.back svg { position: absolute; left: 0; width: 100%; overflow: visible; }
.back .line { top: 0.15rem; height: calc(100% + 0.9rem); }
.back .line.ends { top: 0.8rem; height: calc(100% + 0.25rem); }
.back .tip { top: 0.15rem; height: 0.8rem; }
.back .way { stroke: var(--violet); stroke-width: 2; fill: none; vector-effect: non-scaling-stroke; }
.back .head { fill: var(--violet); }
.parallel > .what::before { content: "at the same time"; display: block; font-size: 0.6875rem; color: var(--soft); }
.parallel.later > .what::before { content: none; }
.what strong { font-weight: 600; overflow-wrap: anywhere; }
.what .kind { color: var(--soft); font-size: 0.75rem; margin-left: 0.35rem; }
.what .badge { margin-left: 0.35rem; }
.what p { font-size: 0.75rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.what p.bad { color: var(--red); overflow-wrap: anywhere; white-space: pre-wrap; }
.time svg { display: block; width: 100%; height: 1.5rem; background: var(--ground); border-radius: 0.35rem; }
.seg { rx: 2px; }
.seg.ok { fill: var(--green); } .seg.no { fill: var(--red); } .seg.late { fill: var(--amber); } .seg.now { fill: var(--blue); } .seg.wait { fill: var(--blue); opacity: 0.45; } .seg.undo { fill: var(--violet); }
.legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; font-size: 0.75rem; color: var(--soft); padding: 0 1.1rem 0.9rem; }
.legend svg { width: 0.7rem; height: 0.7rem; margin-right: 0.35rem; vertical-align: -0.05rem; }
pre { font: 0.75rem/1.6 var(--mono); padding: 0.75rem 1.1rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
progress { width: 6rem; height: 0.5rem; accent-color: var(--accent); vertical-align: middle; }
@media (max-width: 46rem) {
  body { padding: 0 0.75rem 1.5rem; }
  #name { width: 100%; margin-left: 0; }
  .unit { grid-template-columns: 1.4rem 1.2rem minmax(0, 1fr); }
  .unit > .rail, .unit > .back { grid-row: 1 / span 2; }
  .unit > .time { grid-column: 3; margin-top: 0.3rem; }
  #rows td:first-child { max-width: 7.5rem; }
  td.bad { white-space: nowrap; }
  .wide { display: none; }
}
`;
