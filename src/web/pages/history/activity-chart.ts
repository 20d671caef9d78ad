import { type ActivityCounts, DAY_MS, HOUR_MS, lastDay } from '../../../domain/activity.ts';
import type { HistoryDocument } from '../../../operations/history.ts';
import { type Html, html } from '../../html.ts';
import { counted, figure, formatCount, timeOf } from '../../shown-values.ts';
import { bar, baseLine, figuresBehind, type Look, legend, picture, tall } from './chart-parts.ts';

const HEIGHT = 120;
const DELIVERED: Look = { fill: 'solid', tone: 'accent' };
const FAILED: Look = { fill: 'cross', tone: 'bad' };

interface Hour extends ActivityCounts {
  hour: number;
}

/** The last 24 hours: the figures, bars of deliveries with the failed ones on top, and the figures of each hour as a table. */
export function activityChart(
  { hours, since, asOf }: Pick<HistoryDocument, 'hours' | 'since' | 'asOf'>,
  now: number,
): Html {
  if (since === null || asOf === null) return html`<p class="quiet">Nothing was counted yet.</p>`;
  const begin = Math.floor(now / HOUR_MS) * HOUR_MS - DAY_MS + HOUR_MS;
  const known =
    since > begin
      ? html`Counted from ${timeOf(since)} to ${timeOf(asOf)}. What was done before is not counted here.`
      : html`Counted from ${timeOf(begin)} to ${timeOf(asOf)}.`;
  const shown = allHours(lastDay(hours, now), begin);
  const counts = sumOf(shown);
  if (Object.values(counts).every((count) => count === 0)) {
    return html`<p class="quiet">${known} Nothing was read and nothing was sent in this time.</p>`;
  }
  const highest = Math.max(0, ...shown.map(({ delivered, failed }) => delivered + failed));
  const bars =
    highest === 0
      ? html`<p class="quiet">No item was delivered or has failed, so there is no chart.</p>`
      : chart(shown, highest);
  return html`<p class="quiet">${known}</p>
<p>${figuresText(counts)}</p>${bars}${table(shown)}`;
}

/** Each of the last 24 hours, also those in which nothing happened. */
function allHours(hours: readonly Hour[], begin: number): Hour[] {
  return Array.from({ length: 24 }, (_, at) => {
    const hour = begin + at * HOUR_MS;
    const nothing = { hour, requests: 0, refused: 0, delivered: 0, failed: 0, rows: 0 };
    return hours.find((one) => one.hour === hour) ?? nothing;
  });
}

function sumOf(hours: readonly Hour[]): ActivityCounts {
  const sum = (name: keyof ActivityCounts) => hours.reduce((total, hour) => total + hour[name], 0);
  return {
    rows: sum('rows'),
    requests: sum('requests'),
    refused: sum('refused'),
    delivered: sum('delivered'),
    failed: sum('failed'),
  };
}

function figuresText({ rows, requests, refused, delivered, failed }: ActivityCounts): string {
  const others = `${formatCount(refused)} refused (429), ${formatCount(delivered)} delivered, ${formatCount(failed)} failed`;
  return `${counted(rows, 'row')} read, ${counted(requests, 'request')}, ${others}.`;
}

function chart(hours: readonly Hour[], highest: number): Html {
  const width = 1 / hours.length;
  const bars = hours.map(({ delivered, failed }, at) => {
    const place = { x: (at + 0.05) * width, width: 0.9 * width };
    const good = tall(delivered, highest, HEIGHT);
    const bad = tall(failed, highest, HEIGHT);
    return html`${bar(DELIVERED, { ...place, y: HEIGHT - good, height: good })}${bar(FAILED, { ...place, y: HEIGHT - good - bad, height: bad })}`;
  });
  const marks = hours.flatMap(({ hour }, at) => {
    const text = new Date(hour).toISOString().slice(11, 16);
    // Behind the last hours is no room for a text.
    return Number(text.slice(0, 2)) % 6 === 0 && at < hours.length - 3
      ? [
          html`<text x="${Math.round(at * width * 10_000) / 100}%" y="${HEIGHT + 16}" data-hour="${new Date(hour).toISOString()}">${text} UTC</text>`,
        ]
      : [];
  });
  const caption = html`Deliveries in each hour, at most ${formatCount(highest)}. ${legend([
    { name: 'delivered', look: DELIVERED },
    { name: 'failed', look: FAILED },
  ])}`;
  return picture({
    height: HEIGHT + 22,
    name: 'Deliveries of the last 24 hours. The table below has the figures.',
    body: [baseLine(HEIGHT), ...bars, ...marks],
    caption,
  });
}

function table(hours: readonly Hour[]): Html {
  const rows = hours
    .toReversed()
    .map(
      ({ hour, rows: read, requests, refused, delivered, failed }) =>
        html`<tr><th scope="row"><time datetime="${new Date(hour).toISOString()}" data-hour>${new Date(hour).toISOString().slice(11, 16)} UTC</time></th>${[read, requests, refused, delivered, failed].map((count) => html`<td class="number">${figure(count)}</td>`)}</tr>`,
    );
  const heads = ['rows read', 'requests', 'refused (429)', 'delivered', 'failed'];
  return figuresBehind(html`<div class="scroll" tabindex="0" role="region" aria-label="Activity by the hour"><table>
<thead><tr><th scope="col">hour</th>${heads.map((head) => html`<th scope="col" class="number">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`);
}
