import type { GuardedRead } from '../../../domain/ports/intake.ts';
import type { AdoptedChanges } from '../../../domain/ports/ledger/contact-ledger.ts';
import { type Html, html } from '../../html.ts';
import { card, confirmForm, dataTable, pageHead, SHOWN, shownMark } from '../../parts.ts';
import { counted, formatCount, KINDS, timeOf } from '../../shown-values.ts';
import { runPath } from '../links.ts';

export interface AcceptView {
  source: string;
  guarded: readonly GuardedRead[];
  adopted: readonly AdoptedChanges[];
  onMissing: 'flag' | 'ignore' | 'unpublish';
  csrf: string;
}

const AFTERWARDS: Record<AcceptView['onMissing'], string> = {
  flag: 'Their items stay at the platform and are shown as missing until a person decides.',
  ignore: 'Nothing happens to their items, as the config says (onMissing: ignore).',
  unpublish: 'The passports of products among them are withdrawn, as the config says (onMissing: unpublish).',
};

/** The page that explains the effect of accepting an export before a person confirms it. */
export function acceptPage(view: AcceptView): Html {
  const { source, guarded, adopted, onMissing, csrf } = view;
  if (guarded.length === 0 && adopted.length === 0) {
    return html`${pageHead(`Accept the export of ${source}`)}${card(null, html`<p>Nothing of ${source} waits for a decision.</p><p><a href="/runs">Runs</a></p>`)}`;
  }
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
  return html`${pageHead(`Accept the export of ${source}`)}
${guarded.length === 0 ? null : card('What the guard holds', [held(guarded), ...guarded.map(goneList)])}
${adopted.length === 0 ? null : card('Changes of items that were found at the platform', adoptedTable(adopted))}
${card('What will happen', [
  html`<ul>
${older.length === 0 ? null : html`<li>A run of ${source} begins. The rows of the older export then replace the rows that were read after it.</li>`}
${missing === 0 ? null : html`<li>A run of ${source} begins. At most ${counted(missing, 'record')} that the export lacks then ${missing === 1 ? 'counts' : 'count'} as missing. ${AFTERWARDS[onMissing]}</li>`}
${released === 0 ? null : html`<li>${counted(released, 'item')} that no row makes any more ${released === 1 ? 'counts' : 'count'} as missing.</li>`}
${creates === 0 ? null : html`<li>${counted(creates, 'new item')} that the guard has held ${creates === 1 ? 'is' : 'are'} created. The platform cannot delete them.</li>`}
${changes === 0 ? null : html`<li>${counted(changes, 'item')} that ${changes === 1 ? 'was' : 'were'} found at the platform ${changes === 1 ? 'is' : 'are'} changed there to the values of the source.</li>`}
<li>If more records are missing from the next export, the guard holds that export again.</li></ul>`,
  confirmForm(
    { csrf },
    {
      action: '/runs/accept',
      fields: { source, [SHOWN]: waitingMark(view) },
      button: `Accept this export of ${source}`,
      tone: 'grave',
    },
  ),
])}`;
}

/**
 * The mark of everything of a source that waits for the person's decision. The number of the run is left out: each run
 * that reads the same export has another number, and an acceptance is about the figures.
 */
export function waitingMark({ guarded, adopted }: Pick<AcceptView, 'guarded' | 'adopted'>): string {
  return shownMark([guarded.map((read) => ({ ...read, runId: null })), adopted]);
}

function held(guarded: readonly GuardedRead[]): Html {
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
      message,
    ]),
  });
}

/** The names of the records or items that are gone, and how many more there are. */
function goneList({ stream, missing, released, gone }: GuardedRead): Html | null {
  if (gone.length === 0) return null;
  const all = released > 0 ? released : missing;
  const what = released > 0 ? 'Items that no row makes any more' : 'Records that the export lacks';
  const more = all - gone.length;
  return html`<h3>${what}: ${stream} (${formatCount(all)})</h3>
<ul>${gone.map((name) => html`<li>${name}</li>`)}${more <= 0 ? null : html`<li>and ${formatCount(more)} more. To list them: <code>dpp-sync items --state held</code></li>`}</ul>`;
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
