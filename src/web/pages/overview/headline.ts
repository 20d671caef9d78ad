import type { PassportCounts, PassportState } from '../../../domain/ports/ledger/ledger-views.ts';
import { type Html, html } from '../../html.ts';
import { countLink, formatCount } from '../../parts/count-link.ts';
import { passportsPath } from '../links.ts';

/** What may keep a passport from being public, in the order in which the sentence names it. */
const REST: readonly { state: PassportState; says: (count: string, one: boolean) => string }[] = [
  { state: 'blocked', says: (count, one) => `${count} ${one ? 'needs' : 'need'} a person` },
  { state: 'incomplete', says: (count, one) => `${count} ${one ? 'waits' : 'wait'} for a complete product` },
  { state: 'initialized', says: (count, one) => `${count} ${one ? 'is' : 'are'} ready to be published` },
  { state: 'unpublished', says: (count, one) => `${count} ${one ? 'was' : 'were'} withdrawn` },
  { state: 'none', says: (count, one) => `${count} ${one ? 'is' : 'are'} not initialised yet` },
];

/**
 * How many passports are published, and what stops the rest.
 *
 * @param areWanted whether the config wants passports; without it a product without a passport lacks nothing
 */
export function headline(counts: PassportCounts, areWanted: boolean): Html {
  const { published = 0 } = counts;
  const rest = REST.flatMap(({ state, says }) => {
    const count = counts[state] ?? 0;
    return count === 0 || (state === 'none' && !areWanted) ? [] : [{ state, count, says }];
  });
  const total = rest.reduce((sum, { count }) => sum + count, published);
  if (total === 0) {
    const why = areWanted
      ? 'No source has given a product yet.'
      : 'The config has no section “passports”, so no passport is initialised by itself.';
    return html`<p class="headline">No passports yet</p><p class="quiet">${why}</p>`;
  }
  // Where nobody wants passports, no list has only the products with one.
  const all = areWanted ? html`<a href="${passportsPath()}">${formatCount(total)}</a>` : html`${formatCount(total)}`;
  const figure = html`${countLink(published, passportsPath({ state: 'published' }))} of ${all}`;
  const parts = rest.map(
    ({ state, count, says }) =>
      html`<a href="${passportsPath({ state })}">${says(formatCount(count), count === 1)}</a>`,
  );
  return html`<p class="headline">${figure} ${total === 1 ? 'passport' : 'passports'} published</p>${
    rest.length === 0
      ? html`<p class="quiet">Every passport is public.</p>`
      : html`<p>Of the rest, ${joined(parts)}.</p>`
  }`;
}

/** `a, b and c` */
function joined(parts: readonly Html[]): Html {
  if (parts.length < 2) return html`${parts}`;
  const before = parts.slice(0, -1).map((part, at) => (at === 0 ? part : html`, ${part}`));
  return html`${before} and ${parts.at(-1) ?? null}`;
}
