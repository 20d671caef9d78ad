import { describeUnproven } from '../../../domain/attention.ts';
import type { ApiWait } from '../../../domain/delivery/outcome.ts';
import { ITEM_KINDS, type ItemKind } from '../../../domain/item.ts';
import { PASSPORT_STATES, type PassportCounts } from '../../../domain/passport.ts';
import type { ItemCounts } from '../../../domain/ports/ledger/ledger-standing.ts';
import type { RunView } from '../../../domain/ports/ledger/ledger-views.ts';
import { PASSPORTS, STATES, STATES_IN_ORDER, stateWord } from '../../../domain/words/states.ts';
import type { ApiStanding, HealthReport } from '../../../observe/health.ts';
import { soonSent } from '../../../observe/standing.ts';
import { type Html, html, joined } from '../../html.ts';
import { withCode } from '../../parts.ts';
import { counted, countLink, durationOf, figure, formatCount, KINDS, stateBadge, timeOf } from '../../shown-values.ts';
import { latencySentence } from '../history/latency.ts';
import { attentionPath, historyPath, itemsPath, passportsPath, runPath, runsPath } from '../links.ts';
import { countName, RUN_COUNTS, runBadge, sumOf } from '../runs/runs-pages.ts';
import { answersCard, leftBeside } from './answers-card.ts';
import { attentionCard } from './attention-card.ts';
import type { OverviewView } from './overview-view.ts';

/** The first page: the results of the last runs, and the work for a person. */
export function overviewPage(view: OverviewView): Html {
  return html`<h1 class="unseen">Overview</h1><div id="overview" data-live data-renewable-in="${Math.ceil(view.standing.renewableInMs)}">${answersCard(view)}
${attentionCard(view)}${sourcesCard(view)}${standingCard(view)}${passportsCard(view.standing.passports)}${itemsCard(view.standing.items)}
<p><a href="${historyPath}">History</a>: passports and runs day by day, and the last 24 hours.</p>
<p class="quiet">Version ${view.version}, to ${view.baseUrl}, running for ${durationOf(view.now - view.startedAt)}.</p></div>`;
}

/** How many items are in each state, by kind. Each figure links to its items. */
function itemsCard(items: ItemCounts): Html {
  // Most states have no items on most days.
  const shown = STATES_IN_ORDER.filter((state) => ITEM_KINDS.some((kind) => (items[kind][state] ?? 0) > 0));
  const heads = shown.map(
    (state) => html`<th scope="col" class="number" title="${STATES[state].meaning}">${stateWord(state)}</th>`,
  );
  const rows = ITEM_KINDS.map((kind) => itemRow(kind, items[kind], shown));
  return html`<section class="card" aria-labelledby="items"><h2 id="items">Items</h2><div class="scroll" tabindex="0" role="region" aria-label="The items by state"><table class="stacks"><thead><tr><th scope="col">kind</th><th scope="col" class="number">all</th>${heads}</tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

function itemRow(kind: ItemKind, counts: ItemCounts[ItemKind], shown: typeof STATES_IN_ORDER): Html {
  const all = STATES_IN_ORDER.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const cells = shown.map(
    (state) =>
      html`<td class="number" data-label="${stateWord(state)}">${countLink(counts[state] ?? 0, itemsPath({ kind, state }))}</td>`,
  );
  return html`<tr><th scope="row">${KINDS[kind].many}</th><td class="number" data-label="all">${countLink(all, itemsPath({ kind }))}</td>${cells}</tr>`;
}

/** How many passports are in each state; null if no passports are wanted. */
function passportsCard(passports: PassportCounts): Html | null {
  const states = PASSPORT_STATES.filter((state) => state !== 'none');
  if (states.every((state) => (passports[state] ?? 0) === 0)) return null;
  const heads = states.map(
    (state) => html`<th scope="col" class="number" title="${PASSPORTS[state]}">${stateWord(state)}</th>`,
  );
  const cells = states.map(
    (state) =>
      html`<td class="number" data-label="${stateWord(state)}">${countLink(passports[state] ?? 0, passportsPath({ state }))}</td>`,
  );
  return html`<section class="card" aria-labelledby="passports"><h2 id="passports">Passports</h2><div class="scroll" tabindex="0" role="region" aria-label="The passports by state"><table class="stacks"><thead><tr>${heads}</tr></thead><tbody><tr>${cells}</tr></tbody></table></div></section>`;
}

const IN_QUARANTINE = 'with an error now';

/**
 * The last run of each source, with its counts: read = unchanged + changed + with an error + excluded. An unchanged row
 * counts as unchanged also if it is in quarantine, so a further column has all rows in quarantine.
 */
function sourcesCard(view: OverviewView): Html {
  const rows = view.standing.sources.map((source) => sourceRow(source, view));
  const heads = RUN_COUNTS.map((count) => html`<th scope="col" class="number">${countName(count)}</th>`);
  return html`<section class="card" aria-labelledby="sources"><h2 id="sources">Last run of each source</h2>
<div class="scroll" tabindex="0" role="region" aria-label="The sources with their last runs"><table class="stacks">
<thead><tr><th scope="col">source</th><th scope="col">result</th>${heads}<th scope="col" class="number">${IN_QUARANTINE}</th><th scope="col">next run</th></tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}

function sourceRow(
  { source, lastRun, nextRunAt }: OverviewView['standing']['sources'][number],
  { running, pauses, inQuarantine, now }: OverviewView,
): Html {
  const pause = pauses.get(source);
  const end = pause === Number.POSITIVE_INFINITY ? 'without an end' : html`until ${timeOf(pause ?? now)}`;
  const paused = pause === undefined ? null : html`<span class="badge warn">paused</span> ${end}<br />`;
  const next = nextRunAt === null ? html`<span class="quiet">on demand</span>` : timeOf(nextRunAt);
  const quarantined =
    inQuarantine === null
      ? null
      : countLink(inQuarantine.get(source) ?? 0, attentionPath({ type: 'quarantine', source }));
  const cells = RUN_COUNTS.map(
    (count) =>
      html`<td class="number" data-label="${countName(count)}">${lastRun === null ? null : figure(sumOf(lastRun.streams, count))}</td>`,
  );
  return html`<tr><th scope="row"><a href="${runsPath({ source })}">${source}</a></th>
<td class="text" data-label="result">${resultOf(lastRun, running.includes(source), now)}</td>${cells}<td class="number" data-label="${IN_QUARANTINE}">${quarantined}</td><td data-label="next run">${paused}${next}</td></tr>`;
}

function resultOf(run: RunView | null, isRunning: boolean, now: number): Html {
  if (run === null) return isRunning ? stateBadge('running') : html`<span class="quiet">never</span>`;
  if (isRunning) {
    // The newest run that is stored may still be the one before.
    const since =
      run.endedAt === null ? html` <a href="${runPath(run.id)}">for ${durationOf(now - run.startedAt)}</a>` : null;
    return html`${stateBadge('running')}${since}`;
  }
  const ended = run.endedAt ?? run.startedAt;
  const lasted = run.endedAt === null ? null : html`, ${durationOf(run.endedAt - run.startedAt)}`;
  const error = run.error === null ? null : html`<br /><span class="quiet">${withCode(run.error)}</span>`;
  return html`${runBadge(run, isRunning)} <a href="${runPath(run.id)}">${timeOf(ended)}</a>${lasted}${error}`;
}

const API: Record<ApiStanding, Html> = {
  ok: html`<b class="good">ok</b>`,
  unreachable: html`<b class="bad">does not answer</b>`,
  throttled: html`<b class="warn">asks to wait</b>`,
  denied_key: html`<b class="bad">refuses the key</b>`,
  denied_plan: html`<b class="bad">refuses the plan</b>`,
  denied_scope: html`<b class="bad">refuses a scope of the key</b>`,
};
const LEDGER: Record<HealthReport['ledger'], Html> = {
  ok: html`<b class="good">ok</b>`,
  unwritable: html`<b class="bad">cannot be written</b>`,
  lost: html`<b class="bad">was removed or replaced</b>`,
};

/** Whether API, ledger and queue work, how fast deliveries are sent, and when the rest will be done. */
function standingCard(view: OverviewView): Html {
  const { health, pausedQueues } = view;
  const queue = health.queue === 'ok' ? html`<b class="good">ok</b>` : html`<b class="bad">out of reach</b>`;
  const paused = pausedQueues === null || pausedQueues.length === 0 ? null : pausedQueues.join(', ');
  return html`<section class="card" aria-labelledby="standing"><h2 id="standing">Now</h2><ul class="standing">
  <li>Platform ${API[health.api]}</li><li>Ledger ${LEDGER[health.ledger]}</li><li><a href="/queues">Queue</a> ${queue}</li>
  ${paused === null ? null : html`<li class="warn">Paused: <b>${paused}</b></li>`}
</ul>${troubles(view)}${view.unproven.map(
    (writes) => html`<p class="quiet">${describeUnproven(writes, formatCount(writes.count))}</p>`,
  )}${health.api === 'unreachable' ? null : latencySentence(view.latency)}${speed(view)}</section>`;
}

function troubles({
  lost,
  standing,
  trouble,
  configRefusedAt,
  refusal,
  refusedScopes,
  refusedOperations,
}: OverviewView): Html {
  return html`${lost === null ? null : html`<p class="bad">${lost} dpp-sync sends nothing more, and the daemon ends.</p>`}${waitText(standing.apiWait)}${
    configRefusedAt === null
      ? null
      : html`<p class="bad">The config was changed, and the change is not in use. The daemon did not take it at ${timeOf(configRefusedAt)} and uses the former config. <a href="/settings">Settings</a> shows why.</p>`
  }${
    trouble === null
      ? null
      : html`<p class="bad">${trouble} Everything stays due. The deliveries continue automatically when this is fixed.</p>`
  }${
    refusal === null
      ? null
      : html`<p class="bad">${refusal} Nothing is sent until the API accepts the key; everything stays due. Correct the key in the config.</p>`
  }${refusedScopes.map(
    ({ scope, message }) =>
      html`<p class="bad">${message} Deliveries that need the scope <b>${scope}</b> stay due; all others are sent. <code>dpp-sync check</code> shows what the key may do.</p>`,
  )}${refusedOperations.map((sentence) => html`<p class="bad">${sentence} What needs this operation stays due; everything else is sent.</p>`)}`;
}

function waitText(wait: ApiWait | null): Html | null {
  if (wait === null) return null;
  const { since, until, askAgainAt, message } = wait;
  const asked =
    until === null
      ? html`The API has refused every request since ${timeOf(since)} (429):`
      : html`The API has asked to wait until ${timeOf(until)} (429):`;
  return html`<p class="warn">${asked} ${message} dpp-sync asks the API again at ${timeOf(askAgainAt)}; everything stays due.</p>`;
}

/** The figures about speed. They are a list of terms, so that each figure is beside its name even on a phone. */
function speed(view: OverviewView): Html {
  const { rate, refused } = view;
  const allowed =
    rate.allowed === null
      ? html`<span class="quiet">no limit is known yet</span>`
      : html`${formatRate(rate.allowed)} per second`;
  return html`<dl class="figures">
  <div><dt>Requests now</dt><dd>${formatRate(rate.now)} per second</dd></div>
  <div><dt>The API allows</dt><dd>${allowed}</dd></div>
  <div><dt>Refused with 429, last 24 hours</dt><dd>${refused === null ? 'not known' : html`<a href="${historyPath}">${formatCount(refused)}</a>`}</dd></div>
  <div><dt>Left to send</dt><dd>${leftToSend(view)}</dd></div>
</dl>`;
}

/** What is left to send, and how long it takes at the present speed. No time can be given for what waits for something. */
function leftToSend({ left, secondsLeft }: OverviewView): Html {
  if (left === null) return html`not known`;
  const soon = soonSent(left);
  const beside = leftBeside(left);
  if (soon === 0 && beside.length === 0) return html`nothing`;
  const { due, sending, following, requested } = left;
  const parts = [
    html`${countLink(due, itemsPath({ state: 'due' }))}`,
    ...(sending === 0 ? [] : [html`${countLink(sending, itemsPath({ state: 'sending' }))} in flight`]),
    ...(following === 0 ? [] : [html`${counted(following, 'publication')} to follow`]),
    ...(requested === 0 ? [] : [html`${counted(requested, 'publication')} asked for`]),
  ];
  const lasts = secondsLeft === null || soon === 0 ? null : html`, about ${durationOf(secondsLeft * 1000)}`;
  const further = beside.length === 0 ? null : html` <span class="quiet">and ${joined(beside)}</span>`;
  return html`${joined(parts)}${lasts}${further}`;
}

/** Formats a rate: `0`, `4.2`, `120`. */
function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0';
  return perSecond < 10 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond));
}
