/** The styles of the pages for runs, items and passports. `stylesheet.ts` has the styles of all pages. */
export const PAGE_STYLES = `
.headline { font-size: 1.7rem; font-weight: 650; line-height: 1.2; margin: 0 0 .4rem; }
.first > :last-child { margin-bottom: 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 12rem), 1fr)); gap: .75rem 1.5rem; margin: 1rem 0 0; }
.figures dt { color: var(--quiet); font-size: .88rem; } .figures dd { margin: 0; font-variant-numeric: tabular-nums; font-weight: 600; }
.note { padding: .7rem 1rem; border-radius: 8px; margin: 0 0 .9rem; background: var(--bad-ground); }
.note p { margin: 0 0 .5rem; color: var(--text); } .note p:last-child { margin: 0; }
.actions.wrap { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; margin: 0 0 1.1rem; }
.card .actions.wrap { margin: 1rem 0 0; }
fieldset.actions { border: 1px solid var(--line); border-radius: 8px; padding: .7rem 1rem; }
.selection fieldset.actions { position: sticky; bottom: 0; background: var(--card); z-index: 1; margin-bottom: 0; }
.selection input, .selection a { scroll-margin-bottom: 10rem; }
fieldset.actions legend { font-weight: 600; padding: 0 .3rem; } fieldset.actions label { font-weight: 400; }
.counts > span { margin-right: 1rem; white-space: nowrap; }
.pick { white-space: nowrap; } .pick input { margin-right: .5rem; }
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
.chart { margin: 0 0 1rem; } .chart svg { display: block; width: 100%; height: auto; overflow: visible; }
.chart line { stroke: var(--edge); } .chart rect.good { fill: var(--accent); } .chart rect.bad { fill: var(--bad); }
.chart .key::before { content: ""; display: inline-block; width: .8rem; height: .8rem; margin: 0 .35rem 0 .8rem; border-radius: 2px; background: var(--accent); vertical-align: -.05rem; }
.chart .key.bad::before { background: var(--bad); } .chart .key { color: var(--quiet); white-space: nowrap; }
tbody code { white-space: normal; } .nowrap { white-space: nowrap; }
details > summary { cursor: pointer; padding: .2rem 0; }

@media (max-width: 40rem) {
  .steps > li, .timeline > li { grid-template-columns: 1fr; }
  table.stacks, table.stacks tbody, table.stacks tr, table.stacks th[scope="row"], table.stacks td { display: block; }
  table.stacks thead { display: none; }
  table.stacks tr { display: flex; flex-direction: column; border-top: 1px solid var(--line); padding: .6rem 0; }
  table.stacks th[scope="row"] { order: -1; }
  table.stacks.compact tr { flex-flow: row wrap; gap: 0 .75rem; align-items: baseline; }
  table.stacks.compact th[scope="row"] { width: 100%; }
  table.stacks.compact td[data-label] { padding-left: 0; min-height: 0; }
  table.stacks.compact td[data-label]::before { content: none; }
  table.rows.stacks tr.issues { border-top: 0; padding-top: 0; }
  table.rows.stacks td, tr.issues ul { max-width: none; }
  table.rows.stacks td.wrong::before { left: .5rem; }
  .selection fieldset.actions { padding: .5rem .8rem; gap: .4rem .8rem; }
  .selection fieldset.actions .quiet { display: none; }
  table.stacks tr:first-child { border-top: 0; }
  table.stacks th[scope="row"], table.stacks td { border: 0; padding: .12rem 0; text-align: left; white-space: normal; }
  table.stacks td[data-label] { padding-left: 7.5rem; position: relative; min-height: 1.6rem; overflow-wrap: anywhere; }
  table.stacks td[data-label]::before { content: attr(data-label); color: var(--quiet); position: absolute; left: 0; width: 7rem; white-space: normal; }
  table.stacks td[data-label]:empty, table.stacks td:has(> .zero:only-child) { display: none; }
  .chart text { font-size: 26px; } .chart svg { padding-bottom: 1rem; }
}
`;
