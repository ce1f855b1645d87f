import { pageGround } from "../../kit/pages/page-style.js";

export const pageStyle = `${pageGround}
:root { --red-line: #f0c9c4; }
@media (prefers-color-scheme: dark) { :root { --red-line: #4a2b2b; } }
body { font-size: 16px; }
.wide { max-width: 62rem; margin: 0 auto; padding: 0 1.5rem; }
header { background: var(--red-ground); border-bottom: 1px solid var(--red-line); padding: 2.25rem 0 2rem; }
.where { font: 0.875rem/1.6 var(--mono); color: var(--soft); overflow-wrap: anywhere; margin-bottom: 1.25rem; }
.status { background: var(--red); color: var(--card); font-weight: 700; border-radius: 0.3rem; padding: 0.15rem 0.5rem; margin-right: 0.5rem; }
.method { font-weight: 700; color: var(--ink); }
h1 { font-size: 1rem; line-height: 1.4; font-weight: 600; color: var(--red); overflow-wrap: anywhere; }
.message { white-space: pre-wrap; overflow-wrap: anywhere; }
header .message { font-size: 1.75rem; line-height: 1.3; font-weight: 600; letter-spacing: -0.01em; max-height: 60vh; overflow: auto; }
em { color: var(--soft); font-style: italic; }
main > section, main > .note, main > .cure { margin-top: 2.25rem; }
h2 { font-size: 1.25rem; line-height: 1.4; overflow-wrap: anywhere; }
h2 + dl { margin-top: 0.75rem; }
h3 { font-size: 0.8125rem; font-weight: 600; color: var(--soft); margin: 1.5rem 0 0.5rem; }
main > section > h3:first-child { margin-top: 0; }
.stack > ol { background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; overflow: hidden; }
.stack > ol > li + li { border-top: 1px solid var(--line); }
summary { cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary:focus-visible, .code:focus-visible { outline-offset: -2px; }
.frame > details > summary, .stack > ol > .frame:not(:has(details)), .fold > details > summary { padding: 0.65rem 1rem; }
.frame { font: 0.8125rem/1.5 var(--mono); }
.frame summary, .frame:not(:has(details)) { display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between; }
.frame > details > summary:hover, .fold > details > summary:hover { background: var(--hover); }
.call { font-weight: 600; overflow-wrap: anywhere; }
.file { color: var(--soft); overflow-wrap: anywhere; }
.file b { color: var(--ink); font-weight: 600; }
.fold { font-size: 0.8125rem; color: var(--soft); }
summary::before { content: "+"; display: inline-block; width: 1.25em; font-family: var(--mono); font-weight: 400; color: var(--soft); }
details[open] > summary::before { content: "−"; }
.frame > details > summary { position: relative; padding-left: 2.25rem; }
.frame > details > summary::before { position: absolute; left: 1rem; }
.stack > ol > .frame:not(:has(details)) { padding-left: 2.25rem; }
.fold ol { padding: 0 1rem 0.65rem 2.25rem; }
.fold .call { font-weight: 400; }
.code { overflow-x: auto; border-top: 1px solid var(--line); font: 0.8125rem/1.65 var(--mono); tab-size: 4; padding: 0.5rem 0; }
.code > div { display: inline-block; min-width: 100%; }
.code > div > div { display: flex; white-space: pre; padding-right: 1rem; }
.code i { flex: none; width: 4rem; padding-right: 1rem; text-align: right; color: var(--soft); font-style: normal; user-select: none; }
.code .comment { color: var(--soft); font-style: italic; } .code .text { color: var(--green); } .code .word { color: var(--violet); } .code .number { color: var(--blue); }
.code .hit { background: var(--red-ground); box-shadow: inset 3px 0 var(--red); }
.code .hit i { color: var(--red); font-weight: 700; }
.code .caret { color: var(--red); font-weight: 700; line-height: 1; background: var(--red-ground); box-shadow: inset 3px 0 var(--red); }
.raw { margin-top: 0.65rem; font-size: 0.8125rem; color: var(--soft); }
.raw pre { user-select: all; font: 0.75rem/1.6 var(--mono); color: var(--ink); overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; padding: 0.75rem 1rem; margin-top: 0.5rem; }
.cause { border-left: 3px solid var(--red-line); padding-left: 1.25rem; }
.cause .stack { margin-top: 1rem; }
.label { font-size: 0.8125rem; font-weight: 600; color: var(--soft); }
.cause h2 { font-size: 1rem; font-weight: 600; color: var(--red); }
.cause > .message { font-size: 1.25rem; line-height: 1.35; font-weight: 600; }
.line { font: 0.875rem/1.6 var(--mono); overflow-wrap: anywhere; margin-top: 0.25rem; }
.note { color: var(--soft); font: 0.875rem/1.6 var(--sans); }
dl { background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; font: 0.8125rem/1.5 var(--mono); }
dl > div { display: grid; grid-template-columns: minmax(8rem, 14rem) 1fr; gap: 0 1.5rem; padding: 0.5rem 1rem; }
dl > div + div { border-top: 1px solid var(--line); }
dt { color: var(--soft); overflow-wrap: anywhere; }
dd { white-space: pre-wrap; overflow-wrap: anywhere; }
.hidden { color: var(--soft); font-style: italic; }
footer.wide { color: var(--soft); font-size: 0.8125rem; padding-top: 2rem; padding-bottom: 2.5rem; margin-top: 1rem; }
@media (max-width: 40rem) {
  .wide { padding: 0 1rem; }
  header { padding: 1.5rem 0 1.25rem; }
  header .message { font-size: 1.375rem; }
  .frame summary, .frame:not(:has(details)) { display: block; }
  .call, .file { display: block; }
  .code i { width: 3rem; padding-right: 0.75rem; }
  dl > div { grid-template-columns: 1fr; }
  .cause { padding-left: 0.75rem; }
}
@media print { .code, .raw pre { overflow: visible; white-space: pre-wrap; } }
`;
