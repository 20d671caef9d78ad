/** The styles of the pages for runs, items and passports. */
const PAGE_STYLES = `
.headline { font-size: 1.7rem; font-weight: 650; line-height: 1.2; margin: 0 0 .4rem; }
.first > :last-child { margin-bottom: 0; }
.answers { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .6rem; margin: 1rem 0 0; }
.answers > div { border-left: 4px solid var(--edge); background: var(--idle-ground); border-radius: 6px; padding: .55rem .8rem; min-width: 0; }
.answers dt { color: var(--quiet); font-size: .88rem; } .answers dd { margin: 0; } .answers b { display: block; font-size: 1.15rem; line-height: 1.3; } .answers dd span { font-size: .92rem; color: var(--text); }
.answers > .good { border-color: var(--good); background: var(--good-ground); } .answers > .warn { border-color: var(--warn); background: var(--warn-ground); }
.answers > .bad { border-color: var(--bad); background: var(--bad-ground); } .answers > .bad b, .answers > .bad b a { color: var(--bad); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 12rem), 1fr)); gap: .75rem 1.5rem; margin: 1rem 0 0; }
.figures dt { color: var(--quiet); font-size: .88rem; } .figures dd { margin: 0; font-variant-numeric: tabular-nums; font-weight: 600; }
.note { padding: .7rem 1rem; border-radius: 8px; margin: 0 0 .9rem; background: var(--bad-ground); }
.note p { margin: 0 0 .5rem; color: var(--text); } .note p:last-child { margin: 0; }
.actions.wrap { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; margin: 0 0 1.1rem; }
.card .actions.wrap { margin: 1rem 0 0; }
fieldset.actions { border: 1px solid var(--line); border-radius: 8px; padding: .7rem 1rem; }
.selection fieldset.actions { position: sticky; top: 0; background: var(--card); z-index: 1; }
.selection input, .selection a { scroll-margin-top: 10rem; }
td.text { max-width: 24rem; overflow-wrap: anywhere; }
fieldset.actions legend { font-weight: 600; padding: 0 .3rem; } fieldset.actions label { font-weight: 400; }
.counts > span { margin-right: 1rem; white-space: nowrap; }
.pick { white-space: nowrap; } .pick input { margin-right: .5rem; } .all { display: none; } .scripted .all { display: inline-block; }
.answer { font-size: 1.05rem; font-weight: 600; margin: 0 0 .75rem; }
.steps, .timeline { list-style: none; margin: .75rem 0 0; padding: 0; }
.steps > li { display: grid; grid-template-columns: 8rem 1fr; gap: .25rem 1rem; padding: .45rem 0; border-top: 1px solid var(--line); }
.steps > li > .badge { justify-self: start; align-self: start; } .steps > li > div { min-width: 0; overflow-wrap: anywhere; }
.timeline > li { display: grid; grid-template-columns: 13rem 1fr; gap: 0 1rem; padding: .35rem 0; border-top: 1px solid var(--line); }
.timeline > li > div { min-width: 0; overflow-wrap: anywhere; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.25rem 2rem; }
.sides > section { min-width: 0; } .sides h3 { margin-top: 0; } .sides ul { margin: 0; padding-left: 1.1rem; }
.sides td { overflow-wrap: anywhere; } .sides tbody th { min-width: min(11.5rem, 30vw); max-width: 20rem; overflow-wrap: break-word; }
tr.differs > td, tr.differs > th { background: var(--warn-ground); } tr.fault > td, tr.fault > th { background: var(--bad-ground); }
tr.differs { box-shadow: none; } tr.differs > th, tr.fault > th { padding-left: .5rem; box-shadow: inset 3px 0 0 var(--warn); } tr.fault > th { box-shadow: inset 3px 0 0 var(--bad); }
mark { background: transparent; color: inherit; font-weight: 650; }
.tree ul { margin-left: .3rem; } .tree > ul { border: 0; padding-left: 0; margin: 0; } .tree summary { cursor: pointer; } .tree .amount { font-variant-numeric: tabular-nums; }
.chart { margin: 0 0 1rem; } .chart > svg { display: block; } .chart line { stroke: var(--edge); }
.chart text { font-size: 12px; fill: var(--text); } .patterns { position: absolute; }
.chart .good, .patterns .good { color: var(--good); } .chart .accent, .patterns .accent { color: var(--accent); } .chart .idle, .patterns .idle { color: var(--edge); }
.chart .warn, .patterns .warn { color: var(--warn); } .chart .bad, .patterns .bad { color: var(--bad); }
rect.solid { fill: currentColor; } rect.empty { fill: transparent; stroke: currentColor; } .ground { fill: var(--card); } .line { stroke: currentColor; stroke-width: 1.6; fill: none; }
.samples, .sample { display: inline-block; } .sample { margin-right: 1rem; white-space: nowrap; } .sample svg { vertical-align: -.15rem; overflow: visible; }
tbody code { white-space: normal; } .nowrap { white-space: nowrap; }
details > summary { cursor: pointer; padding: .2rem 0; }

@media (max-width: 64rem) { .answers { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media (max-width: 40rem) {
  .answers { grid-template-columns: 1fr; gap: .4rem; } .answers > div { padding: .35rem .7rem; } .headline { font-size: 1.35rem; }
  .steps > li, .timeline > li { grid-template-columns: 1fr; }
  table.stacks, table.stacks tbody, table.stacks tr, table.stacks th[scope="row"], table.stacks td { display: block; }
  table.stacks thead { display: none; }
  table.stacks tr { display: flex; flex-direction: column; border-top: 1px solid var(--line); padding: .6rem 0; }
  table.stacks th[scope="row"] { order: -1; }
  table.stacks.compact tr { flex-flow: row wrap; gap: 0 .75rem; align-items: baseline; }
  table.stacks.compact th[scope="row"] { width: 100%; }
  table.stacks.compact td[data-label] { padding-left: 0; }
  table.stacks.compact td[data-label]::before { content: none; }
  table.rows.stacks tr.issues { border-top: 0; padding-top: 0; }
  table.rows.stacks td, tr.issues ul { max-width: none; }
  .selection fieldset.actions { padding: .5rem .8rem; gap: .4rem .8rem; }
  .selection fieldset.actions .quiet { display: none; }
  table.stacks tr:first-child { border-top: 0; }
  table.stacks th[scope="row"], table.stacks td { border: 0; padding: .12rem 0; text-align: left; white-space: normal; }
  table.stacks td[data-label] { display: flow-root; padding-left: 7.5rem; overflow-wrap: anywhere; max-width: none; }
  table.stacks td[data-label]::before { content: attr(data-label); color: var(--quiet); float: left; margin-left: -7.5rem; width: 7rem; white-space: normal; }
  table.stacks td[data-label]:empty, table.stacks td:has(> .zero:only-child) { display: none; }
}
`;

/**
 * The styles of all pages of this server. They are light or dark, like the visitor's system. Text and background always
 * have a contrast of at least 4.5.
 */
export const STYLESHEET = `
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #ffffff; --line: #d5dae1; --edge: #7a8494; --text: #1d2430; --quiet: #566070;
  --accent: #1a56b0; --on-accent: #ffffff; --good: #16693e; --warn: #7d4e00; --bad: #ac1f18;
  --good-ground: #e2f4ea; --warn-ground: #fdf0d8; --bad-ground: #fde7e5; --idle-ground: #e9edf2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --card: #1b2129; --line: #323c48; --edge: #76828f; --text: #e6eaf0; --quiet: #a3aebc;
    --accent: #8cb8ff; --on-accent: #10151b; --good: #6adba2; --warn: #f2bd5c; --bad: #ff9a91;
    --good-ground: #163325; --warn-ground: #3a2d12; --bad-ground: #42201e; --idle-ground: #2b333d;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: break-word;
}
a { color: var(--accent); }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 .75rem; }
h3 { font-size: 1rem; margin: 1rem 0 .5rem; }
code, pre, .mono { font-family: ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .92em; }
code { overflow-wrap: anywhere; }
pre { overflow-x: auto; margin: 0; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
main:focus { outline: none; }
body > footer { max-width: 80rem; margin: -3rem auto 0; padding: 0 1.25rem 1.5rem; font-size: .88rem; }
body.lost main > :not(#lost) { opacity: .65; }
.skip { position: absolute; left: -999rem; top: 0; padding: .6rem 1rem; background: var(--card); z-index: 2; }
.skip:focus { left: 0; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.top { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1rem; padding: .5rem 1.25rem; background: var(--card); border-bottom: 1px solid var(--line); }
.brand { font-weight: 700; font-size: 1.1rem; color: var(--text); text-decoration: none; padding: .35rem 0; }
.top nav { min-width: 0; }
.top nav ul { display: flex; flex-wrap: wrap; gap: 0 .25rem; margin: 0; padding: 0; list-style: none; }
.top nav a { display: block; padding: .4rem .5rem; color: var(--text); text-decoration: none; border-radius: 6px; white-space: nowrap; }
.top nav a:hover { background: var(--idle-ground); }
.top nav a[aria-current] { background: var(--idle-ground); font-weight: 600; box-shadow: inset 0 -2px 0 var(--accent); }
.who { margin-left: auto; display: flex; align-items: center; gap: .9rem; }
.who form, .find { margin: 0; } .find { flex: 1 1 7rem; max-width: 12rem; margin-left: auto; } .find input { width: 100%; } .find + .who { margin-left: 0; }

main { max-width: 80rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
.head { display: flex; flex-wrap: wrap; align-items: center; gap: .75rem 1.5rem; margin-bottom: 1.1rem; }
.head .actions { margin-left: auto; display: flex; flex-wrap: wrap; gap: .6rem; align-items: flex-start; }
.lead { margin: -.6rem 0 1.1rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem; margin: 0 0 1.25rem; }
.card > :last-child { margin-bottom: 0; } .card > p:first-child { margin-top: 0; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 1.25rem; margin-bottom: 1.25rem; }
.columns > .card { margin: 0; }
.columns.four { grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); }
.row { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; }
.row > *, .head > *, .standing > li { min-width: 0; }
.figure { font-size: 1.7rem; font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums; }

.scroll { overflow-x: auto; position: relative; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .45rem 1.1rem .45rem 0; border-top: 1px solid var(--line); vertical-align: top; }
thead th { border-top: 0; padding-top: 0; color: var(--quiet); font-weight: 500; font-size: .88rem; white-space: nowrap; }
tbody th { font-weight: 600; } tbody th[scope="row"] { min-width: 6.5rem; }
td:last-child, th:last-child { padding-right: 0; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.zero { color: var(--quiet); }
td.differs, .differs { background: var(--warn-ground); box-shadow: inset 3px 0 0 var(--warn); padding-left: .5rem; }
td.wrong, .wrong { background: var(--bad-ground); box-shadow: inset 3px 0 0 var(--bad); padding-left: .5rem; }
.quiet { color: var(--quiet); }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 99px; font-size: .86rem; font-weight: 600; white-space: nowrap; background: var(--idle-ground); color: var(--text); }
.badge.good { background: var(--good-ground); color: var(--good); }
.badge.warn { background: var(--warn-ground); color: var(--warn); }
.badge.bad { background: var(--bad-ground); color: var(--bad); }
.notice { margin: 0 0 1.25rem; padding: .7rem 1rem; border-radius: 8px; border-left: 4px solid currentcolor; background: var(--idle-ground); }
.notice.good { background: var(--good-ground); } .notice.warn { background: var(--warn-ground); } .notice.bad { background: var(--bad-ground); }
.empty { margin: .25rem 0; }
.standing { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 0; padding: 0; list-style: none; }
.standing b { font-weight: 600; }
time { white-space: nowrap; }
.values { margin: 0; display: grid; gap: .35rem; }
.values > div { display: grid; grid-template-columns: minmax(8rem, 14rem) 1fr; gap: .1rem 1rem; }
.columns .values > div { grid-template-columns: minmax(6rem, 8.5rem) 1fr; }
.values dt { color: var(--quiet); } .values dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.tree, .tree ul { list-style: none; margin: 0; padding-left: 1.1rem; border-left: 1px solid var(--line); }
.tree { padding-left: 0; border: 0; }
.tree li { padding: .15rem 0; }
progress, meter { width: 100%; height: .8rem; accent-color: var(--accent); }
svg { max-width: 100%; }
svg .bar { fill: var(--accent); } svg .bar.bad { fill: var(--bad); } svg .axis { stroke: var(--edge); } svg text { fill: var(--quiet); font-size: 11px; }

button, .button, input, select, textarea { font: inherit; border-radius: 7px; border: 1px solid var(--edge); min-height: 2.4rem; }
button, .button { display: inline-block; background: var(--accent); border-color: transparent; color: var(--on-accent); padding: .4rem 1rem; cursor: pointer; font-weight: 600; text-decoration: none; }
button.plain, .button.plain { background: transparent; color: var(--accent); border-color: var(--edge); }
button.grave, .button.grave { background: var(--bad); color: var(--card); }
button.link { background: none; border: 0; padding: 0; color: var(--accent); text-decoration: underline; font-weight: 400; }
button:disabled { opacity: .6; cursor: default; }
input, select, textarea { padding: .4rem .65rem; background: var(--page); color: var(--text); max-width: 100%; }
input[type="checkbox"], input[type="radio"] { min-height: 0; width: 1.15rem; height: 1.15rem; accent-color: var(--accent); vertical-align: -.2rem; }
input[type="file"] { padding: .3rem; }
textarea { width: 100%; }
label { font-weight: 600; }
.field label { display: block; font-size: .88rem; margin-bottom: .2rem; }
.filter { display: flex; flex-wrap: wrap; gap: .75rem 1rem; align-items: flex-end; margin: 0 0 1.1rem; }
.filter input[type="search"] { min-width: min(100%, 18rem); }
.pager { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; margin-top: .8rem; }
details.confirm > summary { list-style: none; }
details.confirm > summary::-webkit-details-marker { display: none; }
details.confirm[open] > summary { opacity: .75; }
form.confirm { margin: 0; }
details.confirm > form { margin-top: .6rem; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: 8px; max-width: 36rem; background: var(--page); }
form.confirm p { margin: 0 0 .7rem; }
form.login { max-width: 24rem; margin: 8vh auto 0; }
form.login h1 { margin: .25rem 0 1.25rem; }
form.login label { display: block; margin: .8rem 0 .3rem; }
form.login input { width: 100%; }
form.login button { margin-top: 1.1rem; width: 100%; }
form.login p { margin: .75rem 0 0; }

ul.names { columns: 14rem; gap: 2rem; } .names li { break-inside: avoid; overflow-wrap: anywhere; }
.causes { list-style: none; margin: 0; padding: 0; }
.cause p { margin: 0 0 .35rem; } .cause .title { font-weight: 650; font-size: 1.05rem; }
.note { padding-left: .7rem; border-left: 3px solid var(--edge); }
form.stack { display: grid; gap: .6rem; justify-items: start; } form.stack > * { min-width: 0; max-width: 100%; } form.stack .field { width: 100%; } form.stack input[type="file"] { width: 100%; } form.stack input:not([type="file"]), form.stack select { width: 100%; }
form.inline { display: flex; gap: .4rem; align-items: center; }
.standing + form, .standing + .confirm, .scroll + form.confirm, .empty + form.confirm { margin-top: .8rem; }
.key { display: inline-block; min-width: 6rem; }
table.rows td { min-width: 4.5rem; max-width: 22rem; overflow-wrap: anywhere; } table.rows th[rowspan] { min-width: 9rem; max-width: 22rem; overflow-wrap: anywhere; }
table.rows tr.issues td { border-top: 0; padding-top: 0; max-width: none; } tr.issues ul, ul.plain { margin: 0; padding-left: 1rem; } tr.issues ul { max-width: min(60rem, 68vw); }

@media (max-width: 40rem) {
  .top { padding: .4rem .9rem; } .find { max-width: 9rem; }
  /* Shades at the sides of the navigation show that it goes on there. */
  .top nav {
    order: 3; width: 100%; overflow-x: auto;
    background: linear-gradient(to right, var(--card) 40%, transparent) left / 3rem 100% no-repeat local,
      linear-gradient(to left, var(--card) 40%, transparent) right / 3rem 100% no-repeat local,
      linear-gradient(to right, var(--line), transparent) left / 1.2rem 100% no-repeat scroll,
      linear-gradient(to left, var(--line), transparent) right / 1.2rem 100% no-repeat scroll;
  }
  .top nav ul { flex-wrap: nowrap; }
  main { padding: 1.1rem .9rem 3rem; }
  .card { padding: .9rem; }
  .values > div { grid-template-columns: 1fr; }
  .head .actions { margin-left: 0; }
  .filter { display: grid; grid-template-columns: 1fr 1fr; }
  .filter .field:has(input) { grid-column: 1 / -1; } .filter button { justify-self: start; }
  .filter input, .filter select { width: 100%; }
}
@media (prefers-reduced-motion: no-preference) {
  a, button, .button { transition: background-color .12s ease; }
}
${PAGE_STYLES}
@media print { .top, .filter, .pager, form { display: none; } }
`;

/**
 * Hides controls of the queues' board whose actions this server refuses: adding, copying, editing, limiting and
 * removing jobs.
 */
export const BOARD_STYLESHEET = `
${['plus', 'trash-2', 'ban', 'chart-no-axes-gantt', 'gauge', 'refresh-cw'].map((icon) => `[role="menuitem"]:has(svg.lucide-${icon})`).join(',\n')},
${['files', 'pencil', 'trash-2'].map((icon) => `li:has(> button > svg.lucide-${icon}), li:has(> span > button > svg.lucide-${icon})`).join(',\n')},
[role="menu"]:has(svg.lucide-arrow-up-down) [role="menuitem"]:has(svg.lucide-pause, svg.lucide-play), ul[class^="queueActions"] {
  display: none !important;
}
/* Texts that are hard to read on their ground. */
:root:not(.dark-mode) { --hl-meta: #59636e; }
small, p[class^="description"] { opacity: 1; color: var(--muted-foreground); }
kbd[class], a[class^="active-"] > span[class^="queueName"], a[class*="flagAlert"] { color: var(--foreground); }
/* The id of a job is of no use to people. The name of the job is shown below it. */
a[class^="jobLink"] > span[class^="jobId"] { font-size: 0; }
a[class^="jobLink"] > span[class^="jobId"]::after { content: "Open this job"; font-size: .8rem; }
`;
