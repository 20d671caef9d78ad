import type { PassportCounts, PassportState } from '../../../domain/ports/ledger/ledger-views.ts';
import { type Html, html, joined } from '../../html.ts';
import { counted, countLink, formatCount } from '../../shown-values.ts';
import { attentionPath, passportsPath, runsPath } from '../links.ts';
import type { OverviewView } from './overview-view.ts';

/**
 * The states of passports that are not public, in the order in which the sentence names them.
 */
const REST: readonly { state: PassportState; says: (count: string, one: boolean) => string }[] = [
  { state: 'blocked', says: (count, one) => `${count} ${one ? 'needs' : 'need'} a person` },
  { state: 'incomplete', says: (count, one) => `${count} ${one ? 'waits' : 'wait'} for a complete product` },
  // Whether its product is complete is known only when somebody asks for the publication.
  { state: 'initialized', says: (count, one) => `${count} ${one ? 'is' : 'are'} prepared, not public` },
  { state: 'unpublished', says: (count, one) => `${count} ${one ? 'was' : 'were'} withdrawn` },
  { state: 'none', says: (count, one) => `${count} ${one ? 'is' : 'are'} not initialised yet` },
];

type HeadlineView = Pick<OverviewView, 'unmapped' | 'passportBlocker' | 'passportsWanted' | 'productsInQuarantine'> & {
  standing: Pick<OverviewView['standing'], 'passports' | 'quarantined' | 'guarded' | 'failedRuns' | 'sources'>;
};

/** A sentence about how many passports are published, and why the others are not. */
export function headline(view: HeadlineView): Html {
  const { passports: counts } = view.standing;
  // If the config wants no passports, a product without a passport lacks nothing.
  const { passportsWanted: areWanted, passportBlocker: blocker } = view;
  const unmade = areWanted ? view.productsInQuarantine : 0;
  const { published = 0 } = counts;
  const rest = REST.flatMap(({ state, says }) => {
    const count = counts[state] ?? 0;
    return count === 0 || (state === 'none' && !areWanted) ? [] : [{ state, count, says }];
  });
  const total = rest.reduce((sum, { count }) => sum + count, published + unmade);
  if (total === 0) {
    const why = areWanted
      ? 'No source has given a product yet.'
      : 'The config has no section “passports”, so dpp-sync initialises no passport automatically.';
    return html`<p class="headline">No passports yet</p><p class="quiet">${why}</p>`;
  }
  // The figure has no link where no list has these products: if the config wants no passports, and if the ledger lacks some products.
  const all =
    areWanted && unmade === 0
      ? html`<a href="${passportsPath()}">${formatCount(total)}</a>`
      : html`${formatCount(total)}`;
  const figure = html`${countLink(published, passportsPath({ state: 'published' }))} of ${all}`;
  const parts = rest.map(
    ({ state, count, says }) =>
      html`<a href="${passportsPath({ state })}">${says(formatCount(count), count === 1)}</a>`,
  );
  if (unmade > 0) {
    parts.push(
      html`<a href="${attentionPath({ type: 'quarantine' })}">${formatCount(unmade)} ${unmade === 1 ? 'has' : 'have'} only rows with an error</a>`,
    );
  }
  return html`<p class="headline">${figure} ${total === 1 ? 'passport' : 'passports'} public</p>${
    parts.length === 0 ? allPublic(view) : html`<p>Of the rest, ${joined(parts)}.</p>${waiting(counts, blocker)}`
  }`;
}

/** What initialised passports wait for besides a person. */
function waiting({ initialized = 0 }: PassportCounts, blocker: string | null): Html | null {
  return initialized === 0 || blocker === null
    ? null
    : html`<p class="warn">No passport can be published now: ${blocker}</p>`;
}

/**
 * The sentence if all passports are published. Products that the ledger does not have yet are not counted, so the
 * sentence names the sources that may still give some.
 */
function allPublic({ standing, unmapped }: HeadlineView): Html {
  const { quarantined, guarded, failedRuns, sources } = standing;
  const parts = [
    ...(quarantined === 0
      ? []
      : [
          html`<a href="${attentionPath({ type: 'quarantine' })}">${counted(quarantined, 'row')}</a> ${quarantined === 1 ? 'is' : 'are'} in quarantine`,
        ]),
    ...failedRuns.map(({ source }) => html`the last run of <a href="${runsPath({ source })}">${source}</a> failed`),
    ...guarded.map(
      ({ source, stream }) => html`the guard holds <a href="${runsPath({ source })}">${source}/${stream}</a>`,
    ),
    ...sources.flatMap(({ source, lastRun, completeAt }) => {
      const link = html`<a href="${runsPath({ source })}">${source}</a>`;
      if (failedRuns.some((failed) => failed.source === source)) return [];
      if (completeAt === null) return [html`${link} was never read completely`];
      return lastRun?.result === 'interrupted' ? [html`the last run of ${link} was interrupted`] : [];
    }),
    ...unmapped.map((source) => html`rows of <a href="${runsPath({ source })}">${source}</a> are not mapped yet`),
  ];
  return parts.length === 0
    ? html`<p class="quiet">Every passport is public.</p>`
    : html`<p>Every passport of the ledger is public. Products may be missing from the ledger: ${joined(parts)}.</p>`;
}
