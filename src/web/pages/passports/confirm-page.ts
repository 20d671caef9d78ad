import { PASSPORT_STATES, type PassportCounts, type PassportState } from '../../../domain/ports/ledger/ledger-views.ts';
import { type Html, html } from '../../html.ts';
import { card, confirmForm, dataTable, pageHead } from '../../parts.ts';
import { counted, formatCount, stateBadge } from '../../shown-values.ts';
import { itemPath } from '../links.ts';

export type WantedStatus = 'published' | 'unpublished';

export interface ConfirmView {
  status: WantedStatus;
  counts: PassportCounts;
  /** Examples of passports that cannot be published, with the reason. */
  examples: readonly {
    product: string;
    naturalKey: string | null;
    state: PassportState;
    blockers: readonly string[];
  }[];
  /** Why even passports of complete products may not be published; null if there is no such reason. */
  warning: string | null;
  /** What keeps everything from being sent now; null if nothing does. */
  hold: string | null;
  /** The hidden fields that name the selection. */
  fields: readonly (readonly [string, string])[];
  csrf: string;
}

/** Whether a request changes a passport in each state. `maybe`: this is only known after its product was checked. */
const EFFECTS: Record<WantedStatus, Record<PassportState, { acts: 'yes' | 'maybe' | 'no'; text: string }>> = {
  published: {
    initialized: { acts: 'yes', text: 'Will be published.' },
    unpublished: { acts: 'yes', text: 'Were withdrawn, and will be published.' },
    none: { acts: 'maybe', text: 'Will be initialised and published if the product is complete.' },
    incomplete: { acts: 'no', text: 'Cannot be published: the product is not complete.' },
    blocked: { acts: 'maybe', text: 'Will be tried again if the product is complete.' },
    published: { acts: 'no', text: 'Nothing: the passport is already public.' },
  },
  unpublished: {
    published: { acts: 'yes', text: 'Will be withdrawn: nobody can see the passport any more.' },
    initialized: { acts: 'maybe', text: 'Not public. The passport stays so until a person publishes it.' },
    unpublished: { acts: 'no', text: 'Nothing: already withdrawn.' },
    none: { acts: 'no', text: 'Nothing: there is no passport.' },
    incomplete: { acts: 'maybe', text: 'Not public. The passport stays so until a person publishes it.' },
    blocked: { acts: 'maybe', text: 'Will be withdrawn if it is public.' },
  },
};

/** The page that explains the effect of publishing or withdrawing before a person confirms it. */
export function confirmPage(view: ConfirmView): Html {
  const { status, counts, fields, csrf } = view;
  const verb = status === 'published' ? 'Publish' : 'Withdraw';
  const count = countOf(counts, status);
  const all = PASSPORT_STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const rows = PASSPORT_STATES.flatMap((state) => {
    const here = counts[state] ?? 0;
    return here === 0 ? [] : [[stateBadge(state), formatCount(here), EFFECTS[status][state].text]];
  });
  const form =
    count === 0
      ? html`<p>Nothing would change. <a href="/passports">Back to the passports</a></p>`
      : html`${confirmForm(
          { csrf },
          {
            action: '/passports/change',
            fields: [...fields, ['status', status]],
            button: `${verb} ${counted(count, 'passport')}`,
            tone: status === 'published' ? 'usual' : 'grave',
          },
        )}<p><a href="/passports">Back without changing anything</a></p>`;
  const table = dataTable({
    caption: 'What will happen, by state',
    columns: [{ name: 'state now' }, { name: 'passports', number: true }, { name: 'what happens' }],
    rows,
    empty: 'Nothing is selected.',
  });
  const title = status === 'published' ? 'Publish passports' : 'Withdraw passports';
  return html`${pageHead(title, { lead: `${counted(all, 'passport')} selected. Nothing has been sent yet.` })}
${card('What will happen', [table, view.hold === null ? null : html`<p class="warn">${view.hold}</p>`, status === 'published' && view.warning !== null ? html`<p class="warn">Initialised passports may have to wait as well: ${view.warning}</p>` : null])}${examplesCard(view)}${card(null, form)}`;
}

/** How many passports the request may change: all except those that certainly do not change. */
function countOf(counts: PassportCounts, status: WantedStatus): number {
  return PASSPORT_STATES.reduce(
    (sum, state) => sum + (EFFECTS[status][state].acts === 'no' ? 0 : (counts[state] ?? 0)),
    0,
  );
}

function examplesCard({ examples, status, counts }: ConfirmView): Html | null {
  const cannot = counts.incomplete ?? 0;
  if (status !== 'published' || examples.length === 0) return null;
  const title = `Why ${counted(cannot, 'passport')} cannot be published`;
  return card(title, [
    dataTable({
      caption: title,
      columns: [{ name: 'product' }, { name: 'state' }, { name: 'why' }],
      rows: examples.map(({ product, naturalKey, state, blockers }) => [
        html`<a href="${itemPath('product', product)}">${naturalKey ?? product}</a>`,
        stateBadge(state),
        blockers.join(' '),
      ]),
    }),
    cannot > examples.length
      ? html`<p class="quiet">These are the first ${examples.length} of ${formatCount(cannot)}.</p>`
      : null,
  ]);
}
