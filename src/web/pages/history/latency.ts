// How long the platform takes to answer, and how often it refuses requests because they come too fast.

import { HOUR_MS, type LatencyComparison } from '../../../domain/activity.ts';
import type { HistoryDocument } from '../../../operations/history.ts';
import { type Html, html } from '../../html.ts';
import { dataTable } from '../../parts.ts';
import { counted, figure, formatCount } from '../../shown-values.ts';
import { bar, baseLine, dayText, figuresBehind, type Look, label, legend, picture, tall } from './chart-parts.ts';

type Hour = HistoryDocument['hours'][number];

/** From here on the platform counts as slow: so many times as long as usual, and so many milliseconds more. */
const SLOW = { times: 3, moreMs: 100 };

/** Whether the platform is slow; null if nothing is known of the last minutes. */
export function latencySentence(latency: LatencyComparison | null): Html | null {
  if (latency === null) return null;
  const { operation, now, usual } = latency;
  const of = html`<span class="quiet">(${operation}: the last ten minutes${usual === null ? null : html`, and the days before`})</span>`;
  if (usual === null) return html`<p>The platform answers in ${milliseconds(now)}. ${of}</p>`;
  const isSlow = now >= usual * SLOW.times && now >= usual + SLOW.moreMs;
  const text = `The platform answers in ${milliseconds(now)}, usually ${milliseconds(usual)}.`;
  return isSlow
    ? html`<p class="warn"><b>${text}</b> The platform is slow, not dpp-sync. ${of}</p>`
    : html`<p>${text} ${of}</p>`;
}

/** Two digits are known: `35 ms`, `410 ms`, `1.2 s`. */
function milliseconds(ms: number): string {
  const rounded = Number(ms.toPrecision(2));
  return rounded < 1000 ? `${rounded} ms` : `${rounded / 1000} s`;
}

const MEDIAN: Look = { fill: 'solid', tone: 'accent' };
const REFUSED: Look = { fill: 'cross', tone: 'bad' };
const HEIGHT = 80;
const TOP = 18;
const SECOND = TOP + HEIGHT + 14;
const LOW = 40;

/** The median of each hour, and below it the refused requests. An hour without answers is a gap. */
export function latencyChart(hours: readonly Hour[], { now, days }: { now: number; days: number }): Html {
  const slowest = Math.max(0, ...hours.map(({ medianMs }) => medianMs ?? 0));
  const refusals = Math.max(0, ...hours.map(({ refused }) => refused));
  if (slowest === 0 && refusals === 0)
    return html`<p class="quiet">The platform was sent nothing in the last ${counted(days, 'day')}.</p>`;
  const count = days * 24;
  const first = now - (now % HOUR_MS) - (count - 1) * HOUR_MS;
  const bars = hours.map(({ hour, medianMs, refused }) => {
    const at = { x: (hour - first) / HOUR_MS / count, width: 1 / count };
    if (at.x < 0) return null;
    const high = tall(medianMs ?? 0, slowest, HEIGHT);
    const low = tall(refused, refusals, LOW);
    return html`${bar(MEDIAN, { ...at, y: TOP + HEIGHT - high, height: high })}${bar(REFUSED, { ...at, y: SECOND + TOP + LOW - low, height: low })}`;
  });
  const end = SECOND + TOP + LOW;
  const marks = Array.from({ length: days }, (_, day) =>
    label(dayText(first + day * 24 * HOUR_MS).slice(5), { x: day / days, y: end + 14 }),
  );
  const body = [
    label(`Median, at most ${milliseconds(slowest)}`, { x: 0, y: 12 }),
    baseLine(TOP + HEIGHT),
    label(`Refused with 429, at most ${formatCount(refusals)} an hour`, { x: 0, y: SECOND + 12 }),
    baseLine(end),
    ...bars,
    ...marks,
  ];
  const caption = html`The hours of the last ${counted(days, 'day')} in UTC. The median is that of accepted writes without bulk imports. ${legend(
    [
      { name: 'half of the answers took less', look: MEDIAN },
      { name: 'refused (429)', look: REFUSED },
    ],
  )}`;
  return html`${picture({ height: end + 20, name: 'Median time of an answer and refused requests in each hour. The table below has the figures.', body, caption })}${figuresBehind(
    table(hours),
  )}`;
}

function table(hours: readonly Hour[]): Html {
  return dataTable({
    caption: 'Answers of the platform by the hour',
    columns: [
      { name: 'hour (UTC)' },
      ...['median', 'requests', 'refused (429)'].map((name) => ({ name, number: true })),
    ],
    rows: hours
      .toReversed()
      .map(({ hour, medianMs, requests, refused }) => [
        new Date(hour).toISOString().slice(0, 16).replace('T', ' '),
        medianMs === null ? null : milliseconds(medianMs),
        figure(requests),
        figure(refused),
      ]),
  });
}
