import { adviceOnGuard, adviceOnHeldRun } from '../../../domain/advice.ts';
import {
  describePaddedKeys,
  formerSourceWarnings,
  MISSING_WORDS,
  type MissingOutcome,
  runWarnings,
} from '../../../domain/attention.ts';
import { kindWord } from '../../../domain/words/states.ts';
import { type Html, html } from '../../html.ts';
import { withCode } from '../../parts.ts';
import { counted, formatCount, KINDS, stateBadge, timeOf } from '../../shown-values.ts';
import type { CauseEntry } from '../attention/cause-entries.ts';
import { atMost, entryPath, entryPlace, membersText, titleText } from '../attention/causes.ts';
import { attentionPath, decideAbout, itemPath, itemsPath } from '../links.ts';
import type { OverviewView } from './overview-view.ts';

type AttentionView = Pick<OverviewView, 'standing' | 'operates' | 'causes' | 'causeCount' | 'stuck'>;

/** The part of the page about work for a person: what is held first, then the causes that hold the most passports. */
export function attentionCard(view: AttentionView): Html {
  const notes = [...guardNotes(view), ...heldNotes(view), ...quarantineNotes(view), ...furtherNotes(view)];
  const { causes, stuck } = view;
  const nothing = notes.length === 0 && stuck.length === 0 && causes !== null && causes.length === 0;
  return html`<section class="card" aria-labelledby="attention"><h2 id="attention">What needs a person</h2>
${nothing ? html`<p class="quiet">Nothing.</p>` : null}${notes}${causeTable(view)}${stuckTable(view)}</section>`;
}

/** What a person has to look at that is none of the causes. */
export function furtherNotes(view: AttentionView): Html[] {
  const kinds = [suspendedNotes, missingNotes, formNotes, paddedNotes, warningNotes];
  return kinds.flatMap((notesOf) => notesOf(view));
}

function causeTable({ causes, causeCount }: AttentionView): Html | null {
  if (causes === null) {
    return html`<p class="warn">The causes could not be read at the moment. Load the page again, or look at <a href="/attention">needs attention</a>.</p>`;
  }
  // The exports and runs that are held are above the table.
  const shown = causes.filter(({ type }) => type !== 'guard' && type !== 'held');
  if (shown.length === 0) return null;
  const more =
    causeCount > causes.length ? html`<p><a href="/attention">All ${formatCount(causeCount)} causes</a></p>` : null;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="The causes"><table class="stacks">
<thead><tr><th scope="col" class="number">how many</th><th scope="col">cause</th><th scope="col">source</th><th scope="col" class="number">passports that wait</th><th scope="col">since</th></tr></thead>
<tbody>${shown.map(causeRow)}</tbody></table></div>${more}`;
}

function causeRow(cause: CauseEntry): Html {
  const { passportsHeld, firstSeenAt, note } = cause;
  const source = cause.causes.length === 1 ? cause.source : entryPlace(cause);
  const owner = note === null || note.owner === '' ? null : html` <span class="quiet">(${note.owner})</span>`;
  return html`<tr><td class="number" data-label="how many"><a href="${entryPath(cause)}">${membersText(cause)}</a></td>
<th scope="row" class="text"><a href="${entryPath(cause)}">${titleText(cause)}</a>${owner}</th><td data-label="source">${source ?? ''}</td>
<td class="number" data-label="passports that wait">${passportsHeld === null ? html`<span class="quiet">not known</span>` : html`${atMost(cause)}${formatCount(passportsHeld)}`}</td>
<td data-label="since">${firstSeenAt === null ? '' : timeOf(firstSeenAt)}</td></tr>`;
}

function guardNotes({ standing, operates }: AttentionView): Html[] {
  return standing.guarded.map((read) => {
    const { title, meaning, cure } = adviceOnGuard(read);
    const decide = decideAbout(read.source, 'export', operates);
    return html`<div class="note bad"><p>${title} ${withCode(cure)}</p><p class="quiet">${withCode(meaning ?? '')}</p><p>${decide}</p></div>`;
  });
}

function heldNotes({ standing, operates }: AttentionView): Html[] {
  return standing.held.map((run) => {
    const { title, meaning, cure } = adviceOnHeldRun(run);
    return html`<div class="note bad"><p>${title} ${withCode(cure)}</p><p class="quiet">${meaning}</p><p>${decideAbout(run.source, 'run', operates)}</p></div>`;
  });
}

function suspendedNotes({ standing }: AttentionView): Html[] {
  return standing.suspended.flatMap(({ kind, creates, reason }) => {
    if (reason === null || creates === 0) return [];
    const link = html`<a href="${itemsPath({ kind, state: 'due' })}">${counted(creates, KINDS[kind].one.toLowerCase(), KINDS[kind].many.toLowerCase())}</a>`;
    return [html`<p>${link} ${creates === 1 ? 'is' : 'are'} not created. ${withCode(reason.message)}</p>`];
  });
}

function quarantineNotes({ standing }: AttentionView): Html[] {
  const { quarantined } = standing;
  if (quarantined === 0) return [];
  return [
    html`<p><a href="${attentionPath({ type: 'quarantine' })}">${counted(quarantined, 'row')}</a> ${quarantined === 1 ? 'has an error and was not sent' : 'have an error and were not sent'}.</p>`,
  ];
}

function missingNotes({ standing }: AttentionView): Html[] {
  const { missingOutcomes: groups } = standing;
  const sum = (outcome: MissingOutcome) =>
    groups.reduce((total, group) => total + (group.outcome === outcome ? group.count : 0), 0);
  const link = itemsPath({ state: 'missing' });
  return (['kept', 'unpublishing'] as const).flatMap((outcome) => {
    const count = sum(outcome);
    if (count === 0) return [];
    return [
      html`<p><a href="${link}">${counted(count, 'item')}</a> ${count === 1 ? 'is' : 'are'} missing from the source: ${MISSING_WORDS[outcome]}.</p>`,
    ];
  });
}

function formNotes({ standing }: AttentionView): Html[] {
  return standing.otherForms.map(({ kind, items, fields }) => {
    const what = counted(items, kindWord(kind), `${kindWord(kind)}s`);
    return html`<p><a href="${itemsPath({ kind })}">${what}</a> ${items === 1 ? 'was' : 'were'} sent in another form than the profile has now: ${fields.join(', ')}. How many can be sent again: <code>dpp-sync replay --form --dry-run</code></p>`;
  });
}

function paddedNotes({ standing }: AttentionView): Html[] {
  return standing.paddedKeys.map(
    (keys) =>
      html`<p>${describePaddedKeys(keys, formatCount(keys.count))} One of them: <a href="${itemPath(keys.kind, keys.example)}">${keys.example}</a></p>`,
  );
}

/** Sources that the config no longer has, and the warnings of the last run of each source. */
function warningNotes({ standing }: AttentionView): Html[] {
  const ofRuns = runWarnings(standing.sources.flatMap(({ lastRun }) => lastRun?.streams ?? []));
  return [...formerSourceWarnings(standing), ...ofRuns].map((text) => html`<p class="warn">${text}</p>`);
}

/** The newest deliveries that need a person, each with the message of the platform. */
function stuckTable({ stuck }: AttentionView): Html | null {
  if (stuck.length === 0) return null;
  const rows = stuck.map(
    ({ kind, key, naturalKey, operation, state, reason }) =>
      html`<tr><th scope="row"><a href="${itemPath(kind, key)}">${naturalKey ?? key}</a></th><td data-label="write">${operation}</td><td data-label="state">${stateBadge(state)}</td><td class="text" data-label="why">${withCode(reason.message)}</td></tr>`,
  );
  return html`<h3 id="stuck">The newest items</h3><div class="scroll" tabindex="0" role="region" aria-labelledby="stuck"><table class="stacks">
<thead><tr><th scope="col">item</th><th scope="col">write</th><th scope="col">state</th><th scope="col">why</th></tr></thead><tbody>${rows}</tbody></table></div>
<p><a href="${itemsPath({ state: 'attention' })}">All items that need a person</a></p>`;
}
