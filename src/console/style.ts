import { pageGround } from "../kit/pages/page-style.js";

export const consoleStyle = `${pageGround}
body { padding: 0 1.5rem 2rem; max-width: 98rem; margin: 0 auto; }
[hidden] { display: none !important; }
button, input { font: inherit; color: inherit; }
a { color: var(--accent); text-underline-offset: 0.15em; }

header { display: flex; align-items: center; gap: 0.5rem 1.25rem; flex-wrap: wrap; padding: 1.25rem 0; }
.brand { display: flex; align-items: center; gap: 0.6rem; }
.logo { width: 1.6rem; height: 1.6rem; fill: var(--accent); }
h1 { font-size: 1.3rem; font-weight: 650; letter-spacing: -0.02em; line-height: 1; } h1 span { color: var(--soft); font-weight: 400; }
nav { display: flex; flex-wrap: wrap; gap: 0.25rem; } nav a { color: var(--soft); text-decoration: none; font-size: 0.875rem; border-radius: 0.5rem; padding: 0.25rem 0.75rem; }
nav a:hover { background: var(--line); } nav a[aria-current] { background: var(--accent-soft); color: var(--accent); font-weight: 600; }
#facts { color: var(--soft); font-size: 0.8125rem; flex: 1; }
#state { display: flex; align-items: center; gap: 0.45rem; font-size: 0.8125rem; font-weight: 600; color: var(--soft); }
.dot { flex: none; width: 0.55rem; height: 0.55rem; border-radius: 50%; background: currentColor; }
#state[data-state="live"] { color: var(--green); } #state[data-state="lost"] { color: var(--red); } #state[data-state="paused"] { color: var(--amber); }
@media (prefers-reduced-motion: no-preference) {
  #state[data-state="live"] .dot, .unit[data-state="active"] .mark { animation: breathe 2s ease-in-out infinite; }
  tbody tr.new > td { animation: arrive 1.2s ease-out; }
}
@keyframes breathe { 50% { opacity: 0.35; } }
@keyframes arrive { from { background: var(--accent-soft); } }
#pause, #more, .actions button { background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.3rem 0.85rem; font-size: 0.8125rem; font-weight: 550; cursor: pointer; }
#pause:hover, #more:hover, .actions button:hover { background: var(--hover); }
.actions { display: flex; gap: 0.5rem; flex-wrap: wrap; } .actions button.danger { color: var(--red); }
td .actions button { padding: 0 0.6rem; }
#facts, table, dd, .value b, .top, .legend b, .count, .what p { font-variant-numeric: tabular-nums; }
main { display: grid; grid-template-columns: minmax(0, 1fr) 24rem; gap: 1rem; align-items: start; } main:has(#side:empty) { grid-template-columns: minmax(0, 1fr); }
main:has(#filters) { grid-template-columns: minmax(0, 1fr) minmax(0, 34rem); } main:has(#filters):has(#side:empty) { grid-template-columns: minmax(0, 1fr); }
main > * { grid-column: 1; } main > #charts, main > #filters, main > #back { grid-column: 1 / -1; } main > #side { grid-column: 2; grid-row: 2 / span 4; }
#panels, #side { display: grid; gap: 1rem; min-width: 0; } #panels:empty, #side:empty { display: none; }
#more { justify-self: start; }
.card, .panel { background: var(--card); border: 1px solid var(--line); border-radius: 0.8rem; overflow: hidden; min-width: 0; }
h2 { font-size: 0.875rem; font-weight: 600; letter-spacing: -0.005em; overflow-wrap: anywhere; }
h3 { font-size: 0.8125rem; font-weight: 550; color: var(--soft); padding: 0.75rem 1.1rem 0.1rem; } h3 + .empty { padding-top: 0.2rem; }
.bar { display: flex; align-items: center; gap: 0.6rem 1rem; flex-wrap: wrap; padding: 0.75rem 1.1rem; border-bottom: 1px solid var(--line); }
.bar h2 { flex: 1; min-width: min-content; } .bar:has(code) h2 { flex: none; font-size: 1.1rem; } .bar code { flex: 1; background: none; color: var(--soft); }
.bar a, #back { font-size: 0.8125rem; }
.count { color: var(--soft); font-weight: 450; margin-left: 0.2rem; }
.fields { display: flex; align-items: center; gap: 0.6rem 1rem; flex-wrap: wrap; font-size: 0.8125rem; }
.chips { display: flex; flex-wrap: wrap; border: 1px solid var(--line); border-radius: 0.5rem; overflow: hidden; background: var(--card); }
.chips button { background: none; border: 0; padding: 0.2rem 0.65rem; color: var(--soft); cursor: pointer; } .chips button:hover { background: var(--hover); }
.chips button[aria-pressed="true"] { background: var(--accent-soft); color: var(--accent); font-weight: 600; } .chips button:focus-visible { outline-offset: -2px; }
input[type="search"] { background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.22rem 0.7rem; width: 14rem; }
.panel input[type="search"] { background: var(--ground); }
input::placeholder { color: var(--soft); opacity: 1; }

.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 0.8125rem; }
th { text-align: left; font-weight: 500; color: var(--soft); font-size: 0.75rem; padding: 0.5rem 0.6rem; }
td { padding: 0.38rem 0.6rem; border-top: 1px solid var(--line); white-space: nowrap; max-width: 26rem; overflow: hidden; text-overflow: ellipsis; }
th:first-child, td:first-child { padding-left: 1.1rem; } th:last-child, td:last-child { padding-right: 1.1rem; }
.number { text-align: right; }
td.number, th.number { padding-left: 1.2rem; }
tbody tr:hover > td { background: var(--hover); }
td a { font-family: var(--mono); text-decoration: none; } td a:hover { text-decoration: underline; } td[title] { cursor: pointer; }
td.whole { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 16rem; }
#side td:has(.stack) { white-space: normal; overflow-wrap: anywhere; } #side td:has(.stack):not(:last-child) { width: 100%; } #side td:last-child:has(.stack) { white-space: nowrap; }
details > summary { padding: 0.6rem 1.1rem; border-top: 1px solid var(--line); }
.terms { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; padding: 0.75rem 1.1rem; } .terms dt { color: var(--soft); font-size: 0.75rem; }
.terms dd { font-size: 1.05rem; font-weight: 600; overflow-wrap: anywhere; }
.badge { font-size: 0.75rem; font-weight: 600; border-radius: 0.35rem; padding: 0.1rem 0.5rem; background: var(--hover); color: var(--soft); white-space: nowrap; }
.good { color: var(--green); } .info { color: var(--blue); } .note { color: var(--violet); } .warning { color: var(--amber); } .bad { color: var(--red); }
.badge.good { background: var(--green-ground); } .badge.info { background: var(--blue-ground); } .badge.note { background: var(--violet-ground); }
.badge.warning { background: var(--amber-ground); } .badge.bad { background: var(--red-ground); }
.soft { color: var(--soft); font-size: 0.8125rem; overflow-wrap: anywhere; }
.empty { color: var(--soft); font-size: 0.8125rem; padding: 1rem 1.1rem; }
.error { color: var(--red); padding: 0 1.1rem 0.9rem; font-size: 0.875rem; overflow-wrap: anywhere; white-space: pre-wrap; }
pre { font: 0.75rem/1.6 var(--mono); padding: 0.75rem 1.1rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
progress { width: 6rem; height: 0.5rem; accent-color: var(--accent); vertical-align: middle; }
summary { cursor: pointer; color: var(--soft); font-size: 0.8125rem; }
.entries li { padding: 0.7rem 1.1rem; overflow-wrap: anywhere; } .entries li + li { border-top: 1px solid var(--line); }
.entries summary { width: fit-content; margin-top: 0.2rem; padding: 0; border: 0; }
.entries pre { background: var(--hover); border-radius: 0.4rem; padding: 0.5rem 0.7rem; margin-top: 0.4rem; max-height: 30rem; }
${Array.from({ length: 8 }, (_, i) => `.entries .depth-${i + 1} { padding-left: ${2.6 + Math.min(i, 4) * 1.5}rem; }`).join("\n")}

/* Steps: a line from one to the next, the way back beside it. */
.flow { padding: 0.4rem 1.1rem 0.9rem; }
.unit { display: grid; grid-template-columns: 1.4rem 1.4rem minmax(0, 15rem) minmax(0, 1fr); gap: 0 0.6rem; position: relative; padding-bottom: 0.9rem; color: var(--ink); }
.rail, .back { position: relative; }
.rail::before { content: ""; position: absolute; left: 50%; top: 0.2rem; bottom: -1.1rem; border-left: 2px solid var(--line); transform: translateX(-50%); }
.unit:last-child > .rail::before { display: none; } .unit.went > .rail::before { border-color: var(--green); }
.mark { --mark: var(--line); position: absolute; left: 50%; top: 0.2rem; width: 1.1rem; height: 1.1rem; border-radius: 50%; transform: translateX(-50%); background: var(--card); border: 2px solid var(--mark); z-index: 1; color: var(--card); font: 700 0.7rem/0.9rem var(--sans); text-align: center; }
.mark:not(:empty) { background: var(--mark); }
.unit.good .mark { --mark: var(--green); } .unit.bad .mark { --mark: var(--red); } .unit.note .mark { --mark: var(--violet); } .unit.warning .mark { --mark: var(--amber); }
.unit.info .mark { --mark: var(--blue); background: var(--blue-ground); }
.undo > .back::before, .passed > .back::before { content: ""; position: absolute; left: 50%; top: 0.2rem; bottom: -1.1rem; border-left: 2px solid var(--violet); transform: translateX(-50%); }
.undo.begins > .back::before { left: 0; right: calc(50% - 1px); bottom: 0.2rem; border: solid var(--violet); border-width: 0 2px 2px 0; border-bottom-right-radius: 0.6rem; transform: none; }
.undo > .back::after { content: ""; position: absolute; left: 50%; top: 0.1rem; border: 0.35rem solid transparent; border-top: 0; border-bottom: 0.65rem solid var(--violet); transform: translateX(-50%); }
.parallel > .what::before { content: "at the same time"; display: block; font-size: 0.6875rem; color: var(--soft); }
.what strong { font-weight: 600; overflow-wrap: anywhere; } .what .kind { color: var(--soft); font-size: 0.75rem; } .what .kind, .what .badge { margin-left: 0.35rem; }
.what p { font-size: 0.75rem; color: var(--soft); overflow-wrap: anywhere; white-space: pre-wrap; } .what p.bad { color: var(--red); }
.time svg { display: block; width: 100%; height: 1.5rem; background: var(--ground); border-radius: 0.35rem; }
.seg { rx: 2px; fill: currentColor; } .seg.thin { color: var(--blue); opacity: 0.45; }
.key { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; font-size: 0.75rem; color: var(--soft); padding: 0 1.1rem 0.9rem; }
.key svg { width: 0.7rem; height: 0.7rem; margin-right: 0.35rem; vertical-align: -0.05rem; }

/* The overview. */
#charts { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 1rem; }
.card { --a: var(--accent); --b: #d59b2d; --c: #b9b4a6; padding: 0.9rem 0 0; }
#requests-card { --b: var(--red); } #latency-card { --a: #8f8a7c; --b: var(--accent); --c: #d59b2d; } #memory-card { --a: var(--blue); --b: #6f95c8; } #loop-card { --a: var(--violet); }
.card h2, .value, .legend { padding: 0 1.1rem; } .card h2 { color: var(--soft); font-weight: 550; }
.value { white-space: nowrap; } .value b { font-size: 1.75rem; line-height: 1.25; font-weight: 620; letter-spacing: -0.03em; }
.value span { color: var(--soft); font-size: 0.8125rem; }
figure { position: relative; height: 5.5rem; margin-top: 1rem; } figure svg { display: block; width: 100%; height: 100%; overflow: visible; }
figure .top { position: absolute; top: -0.85rem; right: 1.1rem; font-size: 0.6875rem; color: var(--soft); pointer-events: none; }
.line0 { color: var(--a); } .line1 { color: var(--b); } .line2 { color: var(--c); }
.stroke { fill: none; stroke: currentColor; stroke-width: 1.75; vector-effect: non-scaling-stroke; stroke-linejoin: round; stroke-linecap: round; }
.area { fill: currentColor; opacity: 0.13; }
.rule, .cursor { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.cursor { stroke: var(--soft); stroke-dasharray: 2 3; }
.legend { display: flex; gap: 0.25rem 1rem; flex-wrap: wrap; font-size: 0.75rem; padding-top: 0.5rem; padding-bottom: 0.7rem; border-top: 1px solid var(--line); }
.legend i { display: inline-block; width: 0.6rem; height: 0.2rem; border-radius: 0.1rem; margin-right: 0.35rem; vertical-align: middle; background: currentColor; }
.legend span { color: var(--soft); } .legend b { color: var(--ink); font-weight: 600; }
#requests .scroll { max-height: 44rem; } #requests thead th { position: sticky; top: 0; background: var(--card); z-index: 1; }
tr.request { cursor: pointer; }
.when, .size { color: var(--soft); }
.method { font: 600 0.75rem/1.5 var(--mono); letter-spacing: 0.01em; }
.GET, .HEAD { color: var(--green); } .POST { color: var(--blue); } .PUT, .PATCH { color: var(--amber); } .DELETE { color: var(--red); } .WS, .OPTIONS { color: var(--violet); }
td.path { width: 100%; max-width: 0; }
td.path button { font: 0.8125rem/1.5 var(--mono); background: none; border: 0; cursor: pointer; display: block; width: 100%; text-align: left; overflow: hidden; text-overflow: ellipsis; }
td.path button:focus-visible { outline-offset: -2px; }
.duration { position: relative; min-width: 7.5rem; }
.duration i { position: absolute; right: 0.6rem; bottom: 0.2rem; height: 2px; border-radius: 1px; background: var(--accent); opacity: 0.7; }
.duration i.slow { background: var(--red); }
.detail > td, .detail:hover > td { background: var(--ground); white-space: normal; padding-top: 0.8rem; padding-bottom: 0.9rem; }
.detail dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.15rem 1.25rem; } .detail dt { color: var(--soft); }
.detail dd { font-family: var(--mono); overflow-wrap: anywhere; } .detail .error, .detail .cause, .detail pre { padding: 0.35rem 0 0; overflow-wrap: anywhere; }
.detail .error { font-weight: 600; } .detail .cause { color: var(--red); } .detail pre { color: var(--soft); white-space: pre; }
.missed > td { color: var(--soft); font-style: italic; }
.stack { display: flex; flex-wrap: wrap; gap: 0.15rem 0.35rem; } .stack > :has(.path), .stack > :has(.soft) { flex-basis: 100%; }
.stack .badge { white-space: normal; } td:last-child > .stack { min-width: 5rem; }
.stack .path { font-family: var(--mono); }
.deprecated { text-decoration: line-through; }
.guard { background: var(--accent-soft); color: var(--accent); }

@media (max-width: 72rem) {
  main, main:has(#filters) { grid-template-columns: minmax(0, 1fr); } main > #side { grid-column: 1; grid-row: auto; }
  #charts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
}
@media (max-width: 46rem) {
  body { padding: 0 0.75rem 1.5rem; }
  header { gap: 0.5rem 0.9rem; }
  nav { order: 8; flex-basis: 100%; }
  #facts { order: 9; flex-basis: 100%; }
  #state { margin-left: auto; }
  #charts { gap: 0.6rem; }
  .card h2, .value, .legend { padding-left: 0.75rem; padding-right: 0.75rem; }
  .value b { font-size: 1.35rem; } .value span { display: block; font-size: 0.75rem; }
  .legend { gap: 0.1rem 0.6rem; font-size: 0.6875rem; }
  figure { height: 3rem; }
  input[type="search"] { width: 100%; }
  td { max-width: 16rem; }
  th:first-child, td:first-child { padding-left: 0.9rem; }
  #rows .size, #rows .when, #requests th:last-child, #requests th:first-child { display: none; }
  .duration { min-width: 5rem; padding-right: 0.9rem; }
  .entries li[class]:not(.depth-0) { padding-left: 2.1rem; border-left: 3px solid var(--line); }
  .unit { grid-template-columns: 1.4rem 1.2rem minmax(0, 1fr); } .unit > .rail, .unit > .back { grid-row: 1 / span 2; } .unit > .time { grid-column: 3; margin-top: 0.3rem; }
}
`;
