import type { ApiWait } from '../../../domain/api-wait.ts';
import { ITEM_KINDS, type ItemKind } from '../../../domain/item.ts';
import {
  type ItemCounts,
  type ItemState,
  PASSPORT_STATES,
  type PassportCounts,
  type RunView,
  type StuckDelivery,
} from '../../../domain/ports/ledger-views.ts';
import type { QueueName } from '../../../domain/ports/queues.ts';
import type { Scope } from '../../../domain/scope.ts';
import type { ApiStanding, HealthReport } from '../../../observe/health.ts';
import type { Standing } from '../../../observe/standing.ts';
import { type Html, html } from '../../html.ts';
import { pageHead } from '../../parts/page-head.ts';

/** All that the page shows. */
export interface StatusView {
  health: HealthReport;
  standing: Standing;
  running: readonly string[];
  /** Null while the queue is out of reach. */
  pausedQueues: readonly QueueName[] | null;
  /** What keeps deliveries from going on, where something does; as the engine says it. */
  trouble: string | null;
  /** Why the daemon may write to its ledger no more, and ends. */
  lost: string | null;
  stuck: readonly StuckDelivery[];
  /** What the API last said where it refuses the key or the plan. */
  refusal: string | null;
  /** What it said of each scope that it refuses. */
  refusedScopes: readonly { scope: Scope; message: string }[];
  baseUrl: string;
  version: string;
  startedAt: number;
  now: number;
}

const KINDS: Record<ItemKind, string> = { product: 'Products', material: 'Materials', bom_item: 'BOM items' };
const STATES: readonly { state: ItemState; name: string }[] = [
  { state: 'delivered', name: 'delivered' },
  { state: 'superseded', name: 'superseded' },
  { state: 'due', name: 'due' },
  { state: 'sending', name: 'sending' },
  { state: 'waiting', name: 'waiting' },
  { state: 'blocked', name: 'blocked' },
  { state: 'rejected', name: 'rejected' },
  { state: 'parked', name: 'parked' },
  { state: 'in_doubt', name: 'in doubt' },
];
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

/** How the daemon stands, on one page. */
export function statusPage(view: StatusView): Html {
  return html`${pageHead('Overview', { lead: html`to ${view.baseUrl}` })}<div id="overview" data-live>
${standingCard(view)}${sourcesCard(view)}${itemsCard(view.standing.items)}${passportsCard(view.standing.passports)}${personCard(view)}
<p class="quiet">Version ${view.version}, running for ${span(view.now - view.startedAt)}.</p></div>`;
}

function standingCard({ health, lost, standing, refusal, refusedScopes, pausedQueues, trouble }: StatusView): Html {
  const queue = health.queue === 'ok' ? html`<b class="good">ok</b>` : html`<b class="bad">out of reach</b>`;
  const paused = pausedQueues === null || pausedQueues.length === 0 ? null : pausedQueues.join(', ');
  return html`<section class="card"><ul class="standing">
  <li>API ${API[health.api]}</li><li>Ledger ${LEDGER[health.ledger]}</li><li>Queue ${queue}</li>
  ${paused === null ? null : html`<li class="warn">Paused: <b>${paused}</b></li>`}
</ul>${lost === null ? null : html`<p class="bad">${lost} Nothing is sent any more, and the daemon ends.</p>`}${waitText(standing.apiWait)}${trouble === null ? null : html`<p class="bad">${trouble} Everything stays due; it goes on by itself when this is fixed.</p>`}${refusal === null ? null : html`<p class="bad">${refusal} Nothing is sent until it does; everything stays due.</p>`}${refusedScopes.map(
    ({ scope, message }) =>
      html`<p class="bad">${message} What takes the scope <b>${scope}</b> stays due; everything else goes on. <code>dpp-sync check</code> says what the key may.</p>`,
  )}</section>`;
}

function waitText(wait: ApiWait | null): Html | null {
  if (wait === null) return null;
  const { since, until, askAgainAt, message } = wait;
  const asked =
    until === null
      ? html`The API has refused every request since ${time(since)} (429):`
      : html`The API has asked to wait until ${time(until)} (429):`;
  return html`<p class="warn">${asked} ${message} It is asked again at ${time(askAgainAt)}; everything stays due.</p>`;
}

function sourcesCard({ standing, running, now }: StatusView): Html {
  const rows = standing.sources.map(({ source, lastRun, nextRunAt }) => {
    const next = nextRunAt === null ? html`<span class="quiet">on demand</span>` : html`${time(nextRunAt)}`;
    const sum = (count: 'read' | 'changed' | 'quarantined') =>
      lastRun === null ? '' : lastRun.streams.reduce((total, stream) => total + stream[count], 0);
    return html`<tr><th scope="row">${source}</th><td>${lastRunOf(lastRun, running.includes(source), now)}</td>
<td class="number">${sum('read')}</td><td class="number">${sum('changed')}</td><td class="number">${sum('quarantined')}</td><td>${next}</td></tr>`;
  });
  return html`<section class="card"><h2>Sources</h2><div class="scroll"><table>
<thead><tr><th>source</th><th>last run</th><th class="number">read</th><th class="number">changed</th><th class="number">quarantined</th><th>next run</th></tr></thead>
<tbody>${rows}</tbody></table></div></section>`;
}

function lastRunOf(run: RunView | null, isRunning: boolean, now: number): Html {
  if (isRunning)
    return html`<span class="warn">running${run === null ? '' : ` for ${span(now - run.startedAt)}`}</span>`;
  if (run === null) return html`<span class="quiet">never</span>`;
  const look = run.result === 'complete' ? 'good' : run.result === 'failed' ? 'bad' : 'warn';
  const ended = html`<span class="${look}">${run.result ?? 'cut short'}</span> ${time(run.endedAt ?? run.startedAt)}`;
  return run.error === null ? ended : html`${ended}<br /><span class="quiet">${run.error}</span>`;
}

function itemsCard(items: ItemCounts): Html {
  const heads = STATES.map(({ name }) => html`<th class="number">${name}</th>`);
  const rows = ITEM_KINDS.map((kind) => {
    const cells = STATES.map(({ state }) => {
      const count = items[kind][state] ?? 0;
      return html`<td class="number${count === 0 ? ' zero' : ''}">${count}</td>`;
    });
    return html`<tr><th scope="row">${KINDS[kind]}</th>${cells}</tr>`;
  });
  return html`<section class="card"><h2>Items</h2><div class="scroll"><table><thead><tr><th></th>${heads}</tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

/** Nothing where nobody wants passports. */
function passportsCard(passports: PassportCounts): Html | null {
  const states = PASSPORT_STATES.filter((state) => state !== 'none');
  if (states.every((state) => (passports[state] ?? 0) === 0)) return null;
  const heads = states.map((state) => html`<th class="number">${state}</th>`);
  const cells = states.map((state) => {
    const count = passports[state] ?? 0;
    return html`<td class="number${count === 0 ? ' zero' : ''}">${count}</td>`;
  });
  return html`<section class="card"><h2>Passports</h2><div class="scroll"><table><thead><tr>${heads}</tr></thead><tbody><tr>${cells}</tr></tbody></table></div></section>`;
}

function personCard({ stuck, standing }: StatusView): Html {
  const notes = [
    ...guardNotes(standing),
    ...suspendedNotes(standing),
    ...quarantineNotes(standing),
    ...missingNotes(standing),
  ];
  if (stuck.length === 0) {
    return html`<section class="card"><h2>What needs a person</h2>${notes.length > 0 ? notes : html`<p class="quiet">Nothing.</p>`}</section>`;
  }
  const rows = stuck.map(
    ({ operation, naturalKey, key, state, reason }) =>
      html`<tr><th scope="row">${naturalKey ?? key}</th><td>${operation}</td><td class="bad">${state.replace('_', ' ')}</td><td>${reason.message}</td></tr>`,
  );
  return html`<section class="card"><h2>What needs a person</h2>${notes}<div class="scroll"><table>
<thead><tr><th>item</th><th>write</th><th>state</th><th>why</th></tr></thead><tbody>${rows}</tbody></table></div>
<p><a href="/queues/queue/deliver?status=failed">All failed deliveries</a>, where Retry maps the stored record anew and sends it again.</p></section>`;
}

function guardNotes({ guarded }: Standing): Html[] {
  return guarded.map(
    ({ source, stream, message }) =>
      html`<p class="bad">The guard holds ${source}/${stream}: ${message} Have the whole export written, or accept this one: <code>dpp-sync sync --accept ${source}</code></p>`,
  );
}

function suspendedNotes({ suspended }: Standing): Html[] {
  return suspended.flatMap(({ kind, creates, reason }) =>
    reason === null || creates === 0
      ? []
      : [
          html`<p><b class="warn">${creates}</b> ${kind}${creates === 1 ? ' is' : 's are'} not created. ${reason.message}</p>`,
        ],
  );
}

function quarantineNotes({ quarantined }: Standing): Html[] {
  if (quarantined === 0) return [];
  return [
    html`<p><b class="warn">${quarantined}</b> ${quarantined === 1 ? 'record is' : 'records are'} in quarantine: <code>dpp-sync quarantine</code> shows why.</p>`,
  ];
}

function missingNotes({ missing }: Standing): Html[] {
  const count = ITEM_KINDS.reduce((sum, kind) => sum + (missing[kind] ?? 0), 0);
  if (count === 0) return [];
  return [
    html`<p><b class="warn">${count}</b> ${count === 1 ? 'item is' : 'items are'} missing from the source and kept at the platform: <code>dpp-sync items --state missing</code> shows which.</p>`,
  ];
}

function time(at: number): Html {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
}

function span(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
