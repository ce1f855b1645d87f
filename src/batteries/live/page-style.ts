/** Inline, since the page loads nothing. Colours of text meet WCAG AA on their backgrounds, in light and in dark. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --ground: #f6f5f1; --card: #fffefb; --ink: #1e1d1a; --soft: #68655d; --line: #e4e1d8; --hover: #f4f1e9;
  --accent: #a8461c; --accent-soft: #f6e6dc;
  --green: #2c6e3f; --blue: #28599b; --amber: #8a5a00; --red: #b3261e; --violet: #6b4596;
  --green-ground: #e5f1e6; --blue-ground: #e4edf7; --amber-ground: #f9eed5; --red-ground: #fbe6e3;
  --line-0: #a8461c; --line-1: #d59b2d; --line-2: #b9b4a6;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --shadow: 0 1px 2px rgb(60 50 30 / 5%), 0 6px 20px -12px rgb(60 50 30 / 18%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #151412; --card: #1d1c19; --ink: #ebe8e1; --soft: #a29d92; --line: #312f2a; --hover: #26241f;
    --accent: #f0956a; --accent-soft: #3a261c;
    --green: #85c996; --blue: #90b8ee; --amber: #e6b45c; --red: #ff8f85; --violet: #c3a3ec;
    --green-ground: #1d2f22; --blue-ground: #1c2939; --amber-ground: #352a14; --red-ground: #3b201e;
    --line-0: #f0956a; --line-1: #e0b64f; --line-2: #6d685d;
    --shadow: none;
  }
}
* { box-sizing: border-box; margin: 0; padding: 0; }
html { -webkit-text-size-adjust: 100%; }
body { background: var(--ground); color: var(--ink); font: 15px/1.5 var(--sans); padding: 0 1.5rem 2rem; max-width: 98rem; margin: 0 auto; }
[hidden] { display: none !important; }
ul { list-style: none; }
button, input { font: inherit; color: inherit; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }

header { display: flex; align-items: center; gap: 0.5rem 1.25rem; flex-wrap: wrap; padding: 1.25rem 0; }
.brand { display: flex; align-items: center; gap: 0.6rem; }
.logo { width: 1.6rem; height: 1.6rem; fill: var(--accent); }
h1 { font-size: 1.3rem; font-weight: 650; letter-spacing: -0.02em; line-height: 1; }
h1 span { color: var(--soft); font-weight: 400; }
#facts { color: var(--soft); font-size: 0.8125rem; flex: 1; font-variant-numeric: tabular-nums; }
#state { display: flex; align-items: center; gap: 0.45rem; font-size: 0.8125rem; font-weight: 600; color: var(--soft); }
.dot { width: 0.55rem; height: 0.55rem; border-radius: 50%; background: currentColor; }
#state[data-state="live"] { color: var(--green); }
#state[data-state="lost"] { color: var(--red); }
#state[data-state="paused"] { color: var(--amber); }
@media (prefers-reduced-motion: no-preference) {
  #state[data-state="live"] .dot { animation: breathe 2s ease-in-out infinite; }
  tbody tr.new > td { animation: arrive 1.2s ease-out; }
}
@keyframes breathe { 50% { opacity: 0.35; } }
@keyframes arrive { from { background: var(--accent-soft); } }
#pause { background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.3rem 0.85rem; font-size: 0.8125rem; font-weight: 550; cursor: pointer; }
#pause:hover { background: var(--hover); }

main { display: grid; grid-template-columns: minmax(0, 1fr) 24rem; gap: 1rem; align-items: start; }
#charts { grid-column: 1 / -1; display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 1rem; }
.card, .panel { background: var(--card); border: 1px solid var(--line); border-radius: 0.8rem; box-shadow: var(--shadow); overflow: hidden; }
h2 { font-size: 0.875rem; font-weight: 600; letter-spacing: -0.005em; }
.card { padding: 0.9rem 0 0; }
.card h2, .value, .legend { padding: 0 1.1rem; }
.card h2 { color: var(--soft); font-weight: 550; }
.value { white-space: nowrap; }
.value b { font-size: 1.75rem; line-height: 1.25; font-weight: 620; letter-spacing: -0.03em; font-variant-numeric: tabular-nums; }
.value span { color: var(--soft); font-size: 0.8125rem; }
figure { position: relative; height: 5.5rem; margin-top: 1rem; }
figure svg { display: block; width: 100%; height: 100%; overflow: visible; }
figure .top { position: absolute; top: -0.85rem; right: 1.1rem; font-size: 0.6875rem; color: var(--soft); font-variant-numeric: tabular-nums; pointer-events: none; }
.stroke { fill: none; stroke-width: 1.75; vector-effect: non-scaling-stroke; stroke-linejoin: round; stroke-linecap: round; }
.area { stroke: none; opacity: 0.13; }
.stroke.line0 { stroke: var(--line-0); } .area.line0 { fill: var(--line-0); }
.stroke.line1 { stroke: var(--line-1); } .area.line1 { fill: var(--line-1); }
.stroke.line2 { stroke: var(--line-2); } .area.line2 { fill: var(--line-2); }
#requests-card { --line-1: var(--red); }
#latency-card { --line-0: #b9b4a6; --line-1: #a8461c; --line-2: #d59b2d; }
@media (prefers-color-scheme: dark) { #latency-card { --line-0: #6d685d; --line-1: #f0956a; --line-2: #e0b64f; } }
#memory-card { --line-0: #28599b; --line-1: #86a9d6; }
@media (prefers-color-scheme: dark) { #memory-card { --line-0: #90b8ee; --line-1: #4d719f; } }
#loop-card { --line-0: #6b4596; }
@media (prefers-color-scheme: dark) { #loop-card { --line-0: #c3a3ec; } }
.rule { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.cursor { stroke: var(--soft); stroke-width: 1; vector-effect: non-scaling-stroke; stroke-dasharray: 2 3; }
.legend { display: flex; gap: 0.25rem 1rem; flex-wrap: wrap; font-size: 0.75rem; color: var(--soft); padding-top: 0.5rem; padding-bottom: 0.7rem; border-top: 1px solid var(--line); }
.legend i { display: inline-block; width: 0.6rem; height: 0.2rem; border-radius: 0.1rem; margin-right: 0.35rem; vertical-align: middle; }
.legend .line0 i { background: var(--line-0); } .legend .line1 i { background: var(--line-1); } .legend .line2 i { background: var(--line-2); }
.legend b { color: var(--ink); font-weight: 600; font-variant-numeric: tabular-nums; }
#tip { position: fixed; pointer-events: none; background: var(--ink); color: var(--ground); font-size: 0.75rem; border-radius: 0.4rem; padding: 0.3rem 0.6rem; white-space: nowrap; font-variant-numeric: tabular-nums; z-index: 2; }

.bar { display: flex; align-items: center; gap: 0.6rem 1rem; flex-wrap: wrap; padding: 0.75rem 1.1rem; border-bottom: 1px solid var(--line); }
.bar h2 { flex: 1; white-space: nowrap; }
.count { color: var(--soft); font-weight: 450; margin-left: 0.2rem; font-variant-numeric: tabular-nums; }
.chips { display: flex; border: 1px solid var(--line); border-radius: 0.5rem; overflow: hidden; }
.chips button { background: none; border: 0; padding: 0.2rem 0.65rem; font-size: 0.8125rem; color: var(--soft); cursor: pointer; }
.chips button + button { border-left: 1px solid var(--line); }
.chips button:hover { background: var(--hover); }
.chips button[aria-pressed="true"] { background: var(--accent-soft); color: var(--accent); font-weight: 600; }
.chips button:focus-visible { outline-offset: -2px; }
#search { background: var(--ground); border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.22rem 0.7rem; font-size: 0.8125rem; width: 14rem; }
#search::placeholder { color: var(--soft); opacity: 1; }
.scroll { overflow-x: auto; }
#requests .scroll { max-height: 44rem; }
#requests thead th { position: sticky; top: 0; background: var(--card); z-index: 1; }
table { width: 100%; border-collapse: collapse; font-size: 0.8125rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--soft); font-size: 0.75rem; padding: 0.5rem 0.6rem; }
td { padding: 0.36rem 0.6rem; border-top: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { padding-left: 1.1rem; }
th:last-child, td:last-child { padding-right: 1.1rem; }
th.number, .number { text-align: right; }
tbody tr.request { cursor: pointer; }
tbody tr.request:hover > td { background: var(--hover); }
.time, .size { color: var(--soft); }
.method { font: 600 0.75rem/1.5 var(--mono); letter-spacing: 0.01em; }
.GET, .HEAD { color: var(--green); } .POST { color: var(--blue); } .PUT, .PATCH { color: var(--amber); } .DELETE { color: var(--red); } .WS, .OPTIONS { color: var(--violet); }
td.path { width: 100%; max-width: 0; }
td.path button { font: 0.8125rem/1.5 var(--mono); background: none; border: 0; cursor: pointer; display: block; width: 100%; text-align: left; overflow: hidden; text-overflow: ellipsis; }
.badge { font-size: 0.75rem; font-weight: 600; border-radius: 0.35rem; padding: 0.1rem 0.5rem; background: var(--hover); color: var(--soft); }
.s2, .UP { background: var(--green-ground); color: var(--green); }
.s3, .s1 { background: var(--blue-ground); color: var(--blue); }
.s4, .DEGRADED { background: var(--amber-ground); color: var(--amber); }
.s5, .DOWN { background: var(--red-ground); color: var(--red); }
.duration { position: relative; min-width: 7.5rem; }
.duration i { position: absolute; right: 0.6rem; bottom: 0.2rem; height: 2px; border-radius: 1px; background: var(--line-0); opacity: 0.7; }
.duration i.slow { background: var(--red); }
.detail > td { background: var(--ground); white-space: normal; padding-top: 0.8rem; padding-bottom: 0.9rem; }
.detail dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.15rem 1.25rem; }
.detail dt { color: var(--soft); }
.detail dd { font-family: var(--mono); overflow-wrap: anywhere; }
.detail .error { color: var(--red); font-weight: 600; margin-top: 0.6rem; overflow-wrap: anywhere; }
.detail .cause { color: var(--red); margin-top: 0.35rem; overflow-wrap: anywhere; }
.detail pre { font: 0.75rem/1.6 var(--mono); color: var(--soft); margin-top: 0.35rem; overflow-x: auto; }
.missed > td { color: var(--soft); font-style: italic; }
.empty { color: var(--soft); font-size: 0.8125rem; padding: 1rem 1.1rem 1.1rem; }
code { font: 0.9em var(--mono); background: var(--hover); border-radius: 0.25rem; padding: 0.1rem 0.3rem; overflow-wrap: anywhere; }

#panels { grid-column: 1; grid-row: 3; display: grid; gap: 1rem; }
#panels:empty { display: none; }
#panels a { color: var(--accent); font-size: 0.8125rem; }
#panels h3 { font-size: 0.8125rem; font-weight: 550; color: var(--soft); padding: 0.75rem 1.1rem 0.1rem; }
#panels h3 + .empty { padding-top: 0.2rem; }
#panels td { max-width: 26rem; overflow: hidden; text-overflow: ellipsis; }
#panels td[title] { cursor: pointer; }
#panels td.whole { white-space: normal; overflow-wrap: anywhere; min-width: 16rem; }
#panels td.number, #panels th.number { padding-left: 1.2rem; }
.terms { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; padding: 0.75rem 1.1rem; }
.terms dt { color: var(--soft); font-size: 0.75rem; }
.terms dd { font-size: 1.05rem; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.terms .good { color: var(--green); } .terms .warning { color: var(--amber); } .terms .bad { color: var(--red); }
#requests { grid-column: 1; grid-row: 2; }
.side { grid-column: 2; grid-row: 2 / span 2; display: grid; gap: 1rem; }
#own-routes { border-top: 1px solid var(--line); }
#own-routes summary { padding: 0.6rem 1.1rem; font-size: 0.8125rem; color: var(--soft); cursor: pointer; }
#own-routes li { border-top: 1px solid var(--line); }
.side li + li { border-top: 1px solid var(--line); }
.side li { padding: 0.5rem 1.1rem; font-size: 0.8125rem; }
#checks li { display: grid; grid-template-columns: 1fr auto auto; gap: 0 0.75rem; align-items: center; }
#checks .ms { color: var(--soft); font-variant-numeric: tabular-nums; }
#checks .message { grid-column: 1 / -1; color: var(--soft); overflow-wrap: anywhere; }
#routes { max-height: 36rem; overflow-y: auto; }
#routes-panel li { display: grid; grid-template-columns: 3.6rem minmax(0, 1fr) auto; gap: 0 0.5rem; align-items: baseline; }
#routes-panel .path { font: 0.8125rem/1.5 var(--mono); overflow-wrap: anywhere; }
#routes-panel .path em { font-style: normal; color: var(--accent); }
#routes-panel .deprecated .path { text-decoration: line-through; }
#routes-panel .internal .path, #routes-panel .internal .method { color: var(--soft); }
#routes-panel .about { grid-column: 2 / -1; color: var(--soft); font-size: 0.75rem; }
#routes-panel .tags { grid-column: 2 / -1; display: flex; flex-wrap: wrap; gap: 0.3rem; margin-top: 0.15rem; }
#routes-panel .tags:empty { display: none; }
.tag { font-size: 0.6875rem; line-height: 1.5; border-radius: 0.3rem; padding: 0 0.4rem; background: var(--hover); color: var(--soft); }
.tag svg { width: 0.5rem; height: 0.6rem; fill: currentColor; fill-rule: evenodd; margin-right: 0.25rem; }
.guard { background: var(--accent-soft); color: var(--accent); }
.hits { color: var(--soft); font-size: 0.75rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.hits .bad { color: var(--red); font-weight: 600; }

@media (max-width: 72rem) {
  main { grid-template-columns: minmax(0, 1fr); }
  #charts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  #routes { max-height: none; }
  #requests, #panels, .side { grid-column: 1; grid-row: auto; }
}
@media (max-width: 40rem) {
  body { padding: 0 0.75rem 1.5rem; }
  #charts { gap: 0.6rem; }
  .card h2, .value, .legend { padding-left: 0.75rem; padding-right: 0.75rem; }
  .value b { font-size: 1.35rem; }
  .value span { display: block; font-size: 0.75rem; }
  .legend { gap: 0.1rem 0.6rem; font-size: 0.6875rem; }
  figure { height: 3rem; }
  #facts { order: 9; flex-basis: 100%; }
  header { gap: 0.5rem 0.9rem; }
  #state { margin-left: auto; }
  #search { width: 100%; }
  #panels td { max-width: 16rem; }
  th:first-child, td:first-child { padding-left: 0.9rem; }
  .size, .time, #requests th:last-child, #requests th:first-child { display: none; }
  .duration { min-width: 5rem; padding-right: 0.9rem; }
}
`;
