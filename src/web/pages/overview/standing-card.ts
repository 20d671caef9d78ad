import { describeUnproven } from '../../../domain/attention-words.ts';
import type { ApiWait } from '../../../domain/delivery/outcome.ts';
import type { ApiStanding, HealthReport } from '../../../observe/health.ts';
import { type Html, html } from '../../html.ts';
import { countLink, durationOf, formatCount, timeOf } from '../../shown-values.ts';
import { itemsPath } from '../links.ts';
import type { LeftState, OverviewView } from './overview-view.ts';

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
export function standingCard(view: OverviewView): Html {
  const { health, pausedQueues } = view;
  const queue = health.queue === 'ok' ? html`<b class="good">ok</b>` : html`<b class="bad">out of reach</b>`;
  const paused = pausedQueues === null || pausedQueues.length === 0 ? null : pausedQueues.join(', ');
  return html`<section class="card" aria-labelledby="standing"><h2 id="standing">Now</h2><ul class="standing">
  <li>API ${API[health.api]}</li><li>Ledger ${LEDGER[health.ledger]}</li><li><a href="/queues">Queue</a> ${queue}</li>
  ${paused === null ? null : html`<li class="warn">Paused: <b>${paused}</b></li>`}
</ul>${troubles(view)}${view.unproven.map(
    (writes) => html`<p class="quiet">${describeUnproven(writes, formatCount(writes.count))}</p>`,
  )}${speed(view)}</section>`;
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
      : html`<p class="bad">The config was changed and is not valid. The daemon refused the change at ${timeOf(configRefusedAt)} and uses the former config. <a href="/settings">Settings</a> shows the errors.</p>`
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
  const { rate, hours } = view;
  const refused = hours.reduce((sum, counts) => sum + counts.refused, 0);
  const allowed =
    rate.allowed === null
      ? html`<span class="quiet">no limit is known yet</span>`
      : html`${formatRate(rate.allowed)} per second`;
  return html`<dl class="figures">
  <div><dt>Requests now</dt><dd>${formatRate(rate.now)} per second</dd></div>
  <div><dt>The API allows</dt><dd>${allowed}</dd></div>
  <div><dt>Refused with 429, last 24 hours</dt><dd>${formatCount(refused)}</dd></div>
  <div><dt>Left to send</dt><dd>${left(view)}</dd></div>
</dl>`;
}

/**
 * How many deliveries are left, and how long they take at the present speed. No time can be given for deliveries that wait for
 * other items.
 */
function left({ left: { due, sending, waiting }, rate }: OverviewView): Html {
  const soon = due + sending;
  if (soon + waiting === 0) return html`nothing`;
  const lasts = soon > 0 && rate.delivered > 0 ? `, about ${durationOf((soon / rate.delivered) * 1000)}` : '';
  const further = (count: number, state: LeftState, what: string) =>
    count === 0 ? null : html` <span class="quiet">and ${countLink(count, itemsPath({ state }))} ${what}</span>`;
  return html`${countLink(due, itemsPath({ state: 'due' }))}${further(sending, 'sending', 'in flight')}${lasts}${further(waiting, 'waiting', 'that wait for other items')}`;
}

/** Formats a rate: `0`, `4.2`, `120`. */
function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0';
  return perSecond < 10 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond));
}
