import { type Html, html } from '../../html.ts';
import { durationOf } from '../../shown-values.ts';
import { activityChart } from './activity-chart.ts';
import { attentionCard } from './attention-card.ts';
import { headline } from './headline.ts';
import { itemsCard, passportsCard } from './items-card.ts';
import type { OverviewView } from './overview-view.ts';
import { sourcesCard } from './sources-card.ts';
import { standingCard } from './standing-card.ts';

/** The first page: the results of the last runs, and the work for a person. */
export function overviewPage(view: OverviewView): Html {
  return html`<h1 class="unseen">Overview</h1><div id="overview" data-live data-renewable-in="${Math.ceil(view.standing.renewableInMs)}"><section class="card first">${headline(view)}</section>
${attentionCard(view)}${sourcesCard(view)}${standingCard(view)}${passportsCard(view.standing.passports)}${itemsCard(view.standing.items)}
<section class="card" aria-labelledby="activity"><h2 id="activity">The last 24 hours</h2>${activityChart(view)}</section>
<p class="quiet">Version ${view.version}, to ${view.baseUrl}, running for ${durationOf(view.now - view.startedAt)}.</p></div>`;
}
