import type { RowInQuarantine, Why, WhyStep } from '../../../domain/ports/ledger/dashboard-views.ts';
import { type Html, html } from '../../html.ts';
import { card } from '../../parts/page-head.ts';
import { causePath, itemPath } from '../links.ts';
import { KINDS } from '../words.ts';

const STANDINGS: Record<WhyStep['standing'], { name: string; tone: string }> = {
  ok: { name: 'done', tone: 'good' },
  stop: { name: 'stops it', tone: 'bad' },
  waits: { name: 'waits', tone: 'warn' },
  unknown: { name: 'not known yet', tone: 'idle' },
};

/** Marks the parts of a text between backticks as code, because a person types them. */
function withCode(text: string): Html {
  return html`${text.split('`').map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
}

/**
 * Why a passport is not published: the answer in one sentence, then the steps from the source's row to the passport.
 *
 * @param rows the rows in quarantine that the steps are about
 * @param hold what keeps everything from being sent now; null if nothing does
 */
export function whyCard(why: Why, rows: readonly RowInQuarantine[], hold: string | null): Html {
  const title = why.published ? 'It is published' : 'Why is this not published?';
  const causes = new Map(rows.map(({ record, cause }) => [record.id, cause.id]));
  const steps = why.steps.map((one) => stepOf(one, causes));
  return card(title, [
    html`<p class="answer">${withCode(why.answer)}</p>`,
    hold === null || why.published ? null : html`<p class="warn">${hold}</p>`,
    steps.length === 0
      ? null
      : html`<details${why.published ? null : html` open`}><summary>From the row to the passport</summary><ol class="steps">${steps}</ol></details>`,
  ]);
}

function stepOf({ standing, text, command, item, record }: WhyStep, causes: ReadonlyMap<number, string>): Html {
  const { name, tone } = STANDINGS[standing];
  const link =
    item === null ? null : html` <a href="${itemPath(item.kind, item.key)}">${KINDS[item.kind].one} ${item.key}</a>`;
  const cause = record === null ? undefined : causes.get(record);
  const quarantined = cause === undefined ? null : html` <a href="${causePath(cause)}">Quarantined row</a>`;
  const cure =
    command === null ? null : html`<br /><span class="quiet">On the terminal:</span> <code>${command}</code>`;
  return html`<li class="${standing}"><span class="badge ${tone}">${name}</span> <div>${withCode(text)}${link}${quarantined}${cure}</div></li>`;
}
