import type { ActionRow } from '../../../domain/ports/ledger/dashboard-views.ts';
import type { TimelineEntry } from '../../../domain/ports/ledger/ledger-views.ts';
import { type Html, html } from '../../html.ts';
import { counted, stateName } from '../../shown-values.ts';

/** How many entries are shown at first. The older ones are in a section that has to be opened. */
const SHOWN = 50;

/** A line of the timeline: what happened to the item, or what a person asked for. */
interface Line {
  at: number;
  text: Html;
}

/** The events of an item and the actions of people about it, the newest first. */
export function timelineOf(entries: readonly TimelineEntry[], actions: readonly ActionRow[]): Html {
  const lines = [...entries.map(entryLine), ...actions.map(actionLine)];
  if (lines.length === 0) return html`<p class="quiet">Nothing has happened to this item yet.</p>`;
  // Lines are sorted by time. Of two lines with the same time the action comes first, because it is the cause.
  const newest = lines.toSorted((a, b) => a.at - b.at).toReversed();
  const rest = newest.slice(SHOWN);
  return html`<ol class="timeline">${newest.slice(0, SHOWN).map(lineOf)}</ol>${
    rest.length === 0
      ? null
      : html`<details><summary>${counted(rest.length, 'earlier entry', 'earlier entries')}</summary><ol class="timeline">${rest.map(lineOf)}</ol></details>`
  }`;
}

function entryLine({ at, what, operation, revision, detail }: TimelineEntry): Line {
  const of =
    operation === null
      ? null
      : html` <span class="quiet">${operation}${revision === null ? null : `, revision ${revision}`}</span>`;
  return { at, text: html`<b>${stateName(what)}</b>${of}${detail === null ? null : html`<br />${detail}`}` };
}

function actionLine({ at, who, via, action, detail, outcome }: ActionRow): Line {
  const { status } = detail;
  const wanted = typeof status === 'string' ? `: ${stateName(status)}` : '';
  return {
    at,
    text: html`<b>${who}</b> asked for <b>${action}${wanted}</b> <span class="quiet">(${via})</span>${outcome === null ? null : html`<br />${outcome}`}`,
  };
}

function lineOf({ at, text }: Line): Html {
  const iso = new Date(at).toISOString();
  return html`<li><time datetime="${iso}" title="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>
<div>${text}</div></li>`;
}

/** The actions of people that name the item, by its key or its natural key. */
export function actionsAbout(
  { key, naturalKey }: { key: string; naturalKey: string | null },
  actions: readonly ActionRow[],
): ActionRow[] {
  const names = new Set([key, naturalKey]);
  return actions.filter(({ detail }) =>
    Object.values(detail).some(
      (value) => typeof value === 'string' && (names.has(value) || value.split(', ').some((part) => names.has(part))),
    ),
  );
}
