import { DAY_MS } from '../../../domain/activity.ts';
import { type HistoryDocument, SHOWN_DAYS, showHistory } from '../../../operations/history.ts';
import { type Html, html } from '../../html.ts';
import { card, pageHead } from '../../parts.ts';
import { forOperation, get, type PageContext, type Route } from '../../server/route.ts';
import { activityChart } from './activity-chart.ts';
import { patterns } from './chart-parts.ts';
import { funnelChart } from './funnel-chart.ts';
import { latencyChart, latencySentence } from './latency.ts';
import { passportsChart } from './passports-chart.ts';
import { runsChart } from './runs-chart.ts';

/** The page of the pictures. */
export function historyRoutes(context: PageContext): Route[] {
  return [
    get('/history', 'viewer', async (request) => {
      const history = await showHistory.run({}, forOperation(context, request));
      const passportsWanted = context.runtime.config.passports !== null;
      const body = historyPage(history, { now: context.clock.now(), passportsWanted });
      return { type: 'page', title: 'History', body, at: '/history' };
    }),
  ];
}

export function historyPage(history: HistoryDocument, view: { now: number; passportsWanted: boolean }): Html {
  const { now, passportsWanted } = view;
  const today = now - (now % DAY_MS);
  const { passports, runs, hours } = SHOWN_DAYS;
  return html`${pageHead('History')}${patterns()}<div id="history" data-live>
${card('Passports by state', passportsChart(history.passportDays, { today, shown: passports }))}
${card('Sources day by day', runsChart(history.runDays, { today, shown: runs }))}
${card('From rows to passports', funnelChart(history.funnel, { passportsWanted }))}
${card('The platform', [latencySentence(history.latency), latencyChart(history.hours, { now, days: hours })])}
${card('The last 24 hours', activityChart(history, now))}</div>`;
}
