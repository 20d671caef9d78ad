// The page on which a person decides about what of a source is held: an export, a run, and changes of items that were found at the
// platform.

import type { HeldRun } from '../../../domain/approval.ts';
import type { GuardedRead, RefusedRead } from '../../../domain/ports/guarded-intake.ts';
import type { AdoptedChanges } from '../../../domain/ports/ledger/contact-ledger.ts';
import type { GoneEffect } from '../../../domain/ports/ledger/dashboard-views.ts';
import { type Html, html } from '../../html.ts';
import { card, confirmForm, dataTable, pageHead, SHOWN, shownMark, withCode } from '../../parts.ts';
import { counted, formatCount, KINDS, timeOf } from '../../shown-values.ts';
import { goneFilePath, itemPath, runPath } from '../links.ts';
import { type HeldRunView, heldRunCards } from './held-run.ts';

export interface AcceptView {
  source: string;
  guarded: readonly GuardedRead[];
  adopted: readonly AdoptedChanges[];
  /** The run that exceeds the bounds, also if a person has decided about it; null if there is none. */
  held: HeldRunView | null;
  /** The products that use what is gone, for each held read. */
  effects: readonly GoneEffect[];
  /** The exports of the source that people have refused, the newest first. */
  refused: readonly RefusedRead[];
  onMissing: 'flag' | 'ignore' | 'unpublish';
  csrf: string;
}

const AFTERWARDS: Record<AcceptView['onMissing'], string> = {
  flag: 'Their items stay at the platform and are shown as missing until a person decides.',
  ignore: 'Nothing happens to their items, as the config says (onMissing: ignore).',
  unpublish: 'The passports of products among them are withdrawn, as the config says (onMissing: unpublish).',
};

/** The page that explains the effect of accepting what is held before a person confirms it. */
export function acceptPage(view: AcceptView): Html {
  const { source, guarded, adopted, effects, refused, held } = view;
  const isOfExport = guarded.length + adopted.length > 0;
  const heading = isOfExport
    ? held === null
      ? `Accept the export of ${source}`
      : `Decide about what is held of ${source}`
    : `Decide about the run of ${source}`;
  if (!isOfExport && held === null) {
    const [last] = refused;
    return html`${pageHead(`Accept the export of ${source}`)}${card(null, [html`<p>Nothing of ${source} waits for a decision.</p>`, last === undefined ? null : refusedText(last), html`<p><a href="/runs">Runs</a></p>`])}`;
  }
  return html`${pageHead(heading)}
${guarded.length === 0 ? null : card('What the guard holds', [guardedTable(guarded), ...guarded.map(goneList), ...effects.map(effectText)])}
${adopted.length === 0 ? null : card('Changes of items that were found at the platform', adoptedTable(adopted))}
${held === null ? null : heldRunCards(held)}
${acceptCard(view)}${refuseCard(view)}`;
}

function acceptCard(view: AcceptView): Html {
  const { source, guarded, adopted, held, onMissing, csrf } = view;
  // Nobody can approve what cannot be shown.
  if (held !== null && 'problem' in held.plan) return card('Read it again', runAgain(view));
  const isOfRun = held !== null && held.run.decision?.decided !== 'approved';
  if (guarded.length + adopted.length === 0 && !isOfRun) return card('What will happen', runAgain(view));
  const missing = guarded.reduce((sum, read) => sum + read.missing, 0);
  const released = guarded.reduce((sum, read) => sum + read.released, 0);
  const older = guarded.filter(({ isOlder }) => isOlder);
  // A stream that is held for several reasons is listed for each.
  const byStream = Map.groupBy(guarded, ({ stream }) => stream);
  const creates = [...byStream.values()].reduce(
    (sum, reads) => sum + Math.max(...reads.map((read) => read.creates)),
    0,
  );
  const changes = adopted.reduce((sum, { items }) => sum + items, 0);
  return card('What will happen', [
    html`<ul>
${!isOfRun ? null : html`<li>A run of ${source} begins, and does what is listed above, even if more has changed meanwhile. What is new counts against the bounds, as on any other night: beyond them the run is held again, and nothing of it is done.</li>`}
${older.length === 0 ? null : html`<li>A run of ${source} begins. The rows of the older export then replace the rows that were read after it.</li>`}
${missing === 0 ? null : html`<li>A run of ${source} begins. At most ${counted(missing, 'record')} that the export lacks then ${missing === 1 ? 'counts' : 'count'} as missing. ${AFTERWARDS[onMissing]}</li>`}
${released === 0 ? null : html`<li>${counted(released, 'item')} that no row makes any more ${released === 1 ? 'counts' : 'count'} as missing.</li>`}
${creates === 0 ? null : html`<li>${counted(creates, 'new item')} that the guard has held ${creates === 1 ? 'is' : 'are'} created. The platform cannot delete them.</li>`}
${changes === 0 ? null : html`<li>${counted(changes, 'item')} that ${changes === 1 ? 'was' : 'were'} found at the platform ${changes === 1 ? 'is' : 'are'} changed there to the values of the source.</li>`}
${guarded.length === 0 ? null : html`<li>If more records are missing from the next export, the guard holds that export again.</li>`}</ul>`,
    confirmForm(
      { csrf },
      {
        action: '/runs/accept',
        fields: { source, [SHOWN]: waitingMark(shownOf(view)) },
        button: acceptButton(view, isOfRun),
        tone: 'grave',
      },
    ),
  ]);
}

function acceptButton({ source, guarded, adopted }: AcceptView, isOfRun: boolean): string {
  if (!isOfRun) return `The rows are really gone: accept this export of ${source}`;
  return guarded.length + adopted.length === 0
    ? `Approve this run of ${source}`
    : `Approve this run of ${source}, and accept its export`;
}

function runAgain({ source, csrf }: AcceptView): Html {
  const text = html`<p>The next run of ${source} reads the source again. You can start it now.</p>`;
  return html`${text}${confirmForm({ csrf }, { action: '/runs/start', fields: { source }, button: `Run ${source} now` })}`;
}

/** The card with which a person keeps what is there; null if nothing can be refused. */
function refuseCard(view: AcceptView): Html | null {
  const { source, guarded, held, csrf } = view;
  const isOfExport = guarded.some(({ isLeft }) => !isLeft);
  const isOfRun = held?.run.decision === null;
  if (!isOfExport && !isOfRun) return null;
  const what = [...(isOfExport ? ['export'] : []), ...(isOfRun ? ['run'] : [])].join(' and this ');
  return card('Or refuse it', [
    isOfExport
      ? html`<p>What the export lacks stays as it was, and nobody is asked again until an export of ${source} lacks more.</p>`
      : null,
    isOfRun
      ? html`<p>Nothing of the run is stored, and nobody is asked again until a run of ${source} would do something else. If the export or the mapping is wrong, correct it: the next run then reads it again.</p>`
      : null,
    confirmForm(
      { csrf },
      {
        action: '/runs/refuse',
        fields: { source, [SHOWN]: waitingMark(shownOf(view)) },
        button: `Refuse this ${what} of ${source}`,
        tone: 'plain',
      },
    ),
  ]);
}

/** How many products use what is gone, how many of their passports everybody can see, and the first of these products. */
function effectText({ stream, products, public: visible, examples }: GoneEffect): Html {
  if (products === null || visible === null) {
    return html`<p>${stream}: so much is gone that the products that use it are not counted.</p>`;
  }
  if (products === 0) return html`<p>${stream}: no product uses what is gone.</p>`;
  const links = examples.map((key) => html`<li><a href="${itemPath('product', key)}">${key}</a></li>`);
  const more = products - examples.length;
  return html`<h3>Products that are gone, or use what is gone: ${stream} (${formatCount(products)})</h3>
<p>The passports of ${formatCount(visible)} of them are public.</p>
<ul class="names">${links}${more <= 0 ? null : html`<li>and ${formatCount(more)} more</li>`}</ul>`;
}

/** What of a source waits for the person's decision. */
export interface Waiting extends Pick<AcceptView, 'guarded' | 'adopted'> {
  held: HeldRun | null;
}

const shownOf = ({ guarded, adopted, held }: AcceptView): Waiting => ({ guarded, adopted, held: held?.run ?? null });

/**
 * The mark of everything of a source that waits for the person's decision. The number of the run of a guarded read is left
 * out: each run that reads the same export has another number, and an acceptance is about the figures. A held run has its
 * number, because its plan has more than the figures.
 */
export function waitingMark({ guarded, adopted, held }: Waiting): string {
  return shownMark([guarded.map((read) => ({ ...read, runId: null })), adopted, held]);
}

function guardedTable(guarded: readonly GuardedRead[]): Html {
  return dataTable({
    caption: 'Streams that the guard holds',
    columns: [
      { name: 'stream' },
      { name: 'rows read', number: true },
      { name: 'records missing', number: true },
      { name: 'items released', number: true },
      { name: 'held since' },
      { name: 'why' },
    ],
    rows: guarded.map(({ stream, runId, read, missing, released, since, message, isOlder }) => [
      stream,
      html`<a href="${runPath(runId)}">${isOlder ? 'none' : formatCount(read)}</a>`,
      formatCount(missing),
      formatCount(released),
      timeOf(since),
      withCode(message),
    ]),
  });
}

/** The names of the records or items that are gone, how many more there are, and the files that have all of them. */
function goneList({ source, stream, missing, released, gone, isLeft }: GuardedRead): Html | null {
  if (gone.length === 0) return null;
  const all = released > 0 ? released : missing;
  const what = released > 0 ? 'Items that no row makes any more' : 'Records that the export lacks';
  const more = all - gone.length;
  const file = { source, stream, of: released > 0 ? 'released' : 'lost' };
  // A file has the form of the files of its stream, so a stream that the config no longer has gets none.
  const files = isLeft
    ? null
    : html`<p class="row"><a class="button plain" href="${goneFilePath('xlsx', file)}">Download as XLSX</a> <a class="button plain" href="${goneFilePath('csv', file)}">Download as CSV</a> <span class="quiet">all ${formatCount(all)}, each with the products that use it</span></p>`;
  return html`<h3>${what}: ${stream} (${formatCount(all)})</h3>
${files}<ul class="names">${gone.map((name) => html`<li>${name}</li>`)}${more <= 0 ? null : html`<li>and ${formatCount(more)} more</li>`}</ul>`;
}

function adoptedTable(adopted: readonly AdoptedChanges[]): Html {
  return dataTable({
    caption: 'Changes that wait for a person',
    columns: [{ name: 'kind' }, { name: 'items', number: true }, { name: 'fields that would change' }],
    rows: adopted.map(({ kind, items, fields }) => [
      KINDS[kind].many,
      formatCount(items),
      Object.entries(fields)
        .map(([field, count]) => `${field} (${formatCount(count)})`)
        .join(', '),
    ]),
  });
}

export function refusedText({ source, stream, by, at }: RefusedRead): Html {
  return html`<p>${by} has refused the export of ${source}/${stream}, ${timeOf(at)}: what was there stays. Nobody is asked again until an export lacks more.</p>`;
}
