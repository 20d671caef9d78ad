import type { TimelineEntry } from '../../../domain/ports/ledger-views.ts';
import { type Html, html } from '../../html.ts';
import { counted } from '../../parts/count-link.ts';
import { stateName } from '../../parts/state-badge.ts';

/** Entries that are shown at once; the older ones are behind a fold. */
const SHOWN = 50;

/** What happened to an item, the newest first. */
export function timelineOf(entries: readonly TimelineEntry[]): Html {
  if (entries.length === 0) return html`<p class="quiet">Nothing has happened to it yet.</p>`;
  const newest = entries.toReversed();
  const rest = newest.slice(SHOWN);
  return html`<ol class="timeline">${newest.slice(0, SHOWN).map(entryOf)}</ol>${
    rest.length === 0
      ? null
      : html`<details><summary>${counted(rest.length, 'earlier entry', 'earlier entries')}</summary><ol class="timeline">${rest.map(entryOf)}</ol></details>`
  }`;
}

function entryOf({ at, what, operation, revision, detail }: TimelineEntry): Html {
  const iso = new Date(at).toISOString();
  const of =
    operation === null
      ? null
      : html` <span class="quiet">${operation}${revision === null ? null : `, revision ${revision}`}</span>`;
  return html`<li><time datetime="${iso}" title="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>
<div><b>${stateName(what)}</b>${of}${detail === null ? null : html`<br />${detail}`}</div></li>`;
}
