// What a run would do that is held because it exceeds the bounds of its source.

import { decisionText, EFFECTS, type Effect, type HeldRun, heldText } from '../../../domain/approval.ts';
import type { OutlinedAction, OutlinedField, OutlinedItem, PlannedAction, PlanOutline } from '../../../domain/plan.ts';
import { kindWord } from '../../../domain/words/states.ts';
import { type Html, html, joined } from '../../html.ts';
import { card, dataTable } from '../../parts.ts';
import { formatCount, timeOf } from '../../shown-values.ts';
import { heldPlanPath, itemPath, runPath } from '../links.ts';

export interface HeldRunView {
  run: HeldRun;
  /** Why its plan cannot be shown, in place of the plan. */
  plan: { outline: PlanOutline } | { problem: string };
}

/** What the run would do: the counts, and the first items of each action. */
export function heldRunCards({ run, plan }: HeldRunView): Html {
  const { source, runId, at, decision } = run;
  return html`${card('What the run would do', [
    html`<p><a href="${runPath(runId)}">Run ${formatCount(runId)} of ${source}</a> was held ${timeOf(at)}, before its first row. It would make ${heldText(run)}. Nothing of it is stored, and nothing of it is sent.</p>`,
    decision === null ? null : html`<p class="warn">${decisionText(decision)}</p>`,
    effectsTable(run),
    'problem' in plan ? problemText(plan.problem) : downloadLink(source),
  ])}${'problem' in plan ? null : plan.outline.map(actionCard)}`;
}

function problemText(problem: string): Html {
  return html`<p class="bad">The plan of the run cannot be shown, so the run cannot be approved here. ${problem}</p><p>Read the source again: the next run that is held makes a new plan.</p>`;
}

function downloadLink(source: string): Html {
  return html`<p class="row"><a class="button plain" href="${heldPlanPath(source)}">Download the whole plan</a> <span class="quiet">one JSON object on each line, as <code>dpp-sync plan --out</code> writes it</span></p>`;
}

const EFFECT_NAMES: Record<Effect, string> = {
  creates: 'new items',
  changes: 'changed items',
  publish: 'passports to publish',
  unpublish: 'passports to withdraw',
};

/** The counts by effect and by the source to which they count. */
function effectsTable({ effects, excesses }: HeldRun): Html {
  return dataTable({
    caption: 'What the run would do, by the source to which it counts',
    columns: [{ name: 'source' }, ...EFFECTS.map((effect) => ({ name: EFFECT_NAMES[effect], number: true }))],
    rows: Object.entries(effects).map(([source, counts]) => [
      source,
      ...EFFECTS.map((effect) => {
        const excess = excesses.find((one) => one.source === source && one.effect === effect);
        const count = formatCount(counts[effect]);
        if (excess === undefined) return html`<span class="${counts[effect] === 0 ? 'zero' : ''}">${count}</span>`;
        return html`<b class="bad">${count}</b> <span class="quiet">(allowed: ${formatCount(excess.limit)})</span>`;
      }),
    ]),
  });
}

const ACTION_NAMES: Record<PlannedAction, string> = {
  create: 'New items',
  create_or_adopt: 'New items, unless the platform has them already',
  update: 'Changed items',
  prepare: 'Passports to prepare',
  publish: 'Passports to publish',
  unpublish: 'Passports to withdraw',
  differs: 'Public passports whose data would change',
  blocked: 'Items of which nothing would be sent',
};

/** Actions with items that the ledger has, so that each has a page. */
const HAVE_PAGES: readonly PlannedAction[] = ['update', 'unpublish', 'differs'];
/** The name of a column where the fields of the items say more than the name of the action. */
const FIELD_COLUMNS: Partial<Record<PlannedAction, string>> = {
  create: 'what it would be',
  create_or_adopt: 'what it would be',
  update: 'what would change',
  blocked: 'why',
};

/** How many items of an action are shown before a person asks for more. */
const SHOWN_FIRST = 5;

function actionCard({ action, count, first }: OutlinedAction): Html {
  const name = ACTION_NAMES[action];
  const [shown, further] = [first.slice(0, SHOWN_FIRST), first.slice(SHOWN_FIRST)];
  const more = count - first.length;
  return card(html`${name} (${formatCount(count)})`, [
    itemList(action, shown, name),
    further.length === 0
      ? null
      : html`<details><summary>${formatCount(further.length)} more</summary>${itemList(action, further, `${name}: more`)}</details>`,
    more === 0 ? null : html`<p class="quiet">The download has ${formatCount(more)} more.</p>`,
  ]);
}

function itemList(action: PlannedAction, items: readonly OutlinedItem[], caption: string): Html {
  const column = FIELD_COLUMNS[action];
  const names = items.map(({ kind, key, name }) =>
    key !== null && HAVE_PAGES.includes(action) ? html`<a href="${itemPath(kind, key)}">${name}</a>` : html`${name}`,
  );
  if (column === undefined) return html`<p>${joined(names)}</p>`;
  return dataTable({
    caption,
    columns: [{ name: 'item' }, { name: 'kind' }, { name: column }],
    rows: items.map((item, at) => [names[at] ?? null, kindWord(item.kind), contentOf(item)]),
  });
}

function contentOf({ fields, otherFields, why }: OutlinedItem): Html {
  const more = otherFields === 0 ? [] : [html`<span class="quiet">and ${formatCount(otherFields)} more</span>`];
  const lines = [...fields.map(fieldText), ...more];
  // The fields of a new item have no former values, so they are short.
  if (fields.every(({ old }) => old === null))
    return html`${why}${lines.map((line, at) => html`${at === 0 ? null : '; '}${line}`)}`;
  return html`${why}<ul class="plain">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

function fieldText({ name, old, new: value }: OutlinedField): Html {
  const before = old === null ? null : html`${valueText(old)} → `;
  const after = value === null ? html`<span class="quiet">(removed)</span>` : valueText(value);
  return html`<span class="mono">${name}</span>: ${before}${after}`;
}

function valueText(text: string): Html {
  return text === '' ? html`<span class="quiet">(empty)</span>` : html`<code>${text}</code>`;
}
