/** The look of our own pages, light or dark as the visitor's system is. */
export const STYLESHEET = `
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #ffffff; --line: #dfe3e8; --text: #1d2430; --quiet: #5c6675;
  --accent: #1f5fbf; --good: #1a7f4b; --warn: #9a6100; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --card: #1b2129; --line: #2f3843; --text: #e6eaf0; --quiet: #98a3b2;
    --accent: #7fb0ff; --good: #5fd39a; --warn: #f0b954; --bad: #ff8a80;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
a { color: var(--accent); }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
header { display: flex; align-items: baseline; gap: 1rem; flex-wrap: wrap; margin-bottom: 1.5rem; }
header h1 { font-size: 1.4rem; margin: 0; }
header nav { margin-left: auto; display: flex; gap: 1.25rem; align-items: baseline; }
h2 { font-size: 1rem; margin: 0 0 .75rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem; margin: 0 0 1.25rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem 1.1rem .4rem 0; border-top: 1px solid var(--line); vertical-align: top; }
thead th { border-top: 0; padding-top: 0; color: var(--quiet); font-weight: 500; font-size: .86rem; white-space: nowrap; }
tbody th { font-weight: 600; white-space: nowrap; }
td:last-child, th:last-child { padding-right: 0; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.zero { color: var(--quiet); opacity: .55; }
.quiet { color: var(--quiet); }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.standing { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 0; padding: 0; list-style: none; }
.standing b { font-weight: 600; }
time { white-space: nowrap; }
form.login h1 { font-size: 1.5rem; margin: .25rem 0 1.25rem; }
button, input { font: inherit; border-radius: 7px; border: 1px solid var(--line); }
button { background: var(--accent); border-color: transparent; color: var(--page); padding: .5rem 1.1rem; cursor: pointer; font-weight: 600; }
button.link { background: none; border: 0; padding: 0; color: var(--accent); text-decoration: underline; font-weight: 400; }
input { width: 100%; padding: .55rem .7rem; background: var(--page); color: var(--text); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
form.login { max-width: 24rem; margin: 12vh auto 0; }
form.login label { display: block; font-weight: 600; margin-bottom: .4rem; }
form.login button { margin-top: 1rem; width: 100%; }
form.login p { margin: .75rem 0 0; }
`;

/** Hides what the queues' board offers and this server refuses: adding, copying, editing, limiting and removing jobs. */
export const BOARD_STYLESHEET = `
${['plus', 'trash-2', 'ban', 'chart-no-axes-gantt', 'gauge'].map((icon) => `[role="menuitem"]:has(svg.lucide-${icon})`).join(',\n')},
${['files', 'pencil', 'trash-2'].map((icon) => `li:has(> button > svg.lucide-${icon}), li:has(> span > button > svg.lucide-${icon})`).join(',\n')} {
  display: none !important;
}
`;
