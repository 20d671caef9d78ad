import type { ActivityCounts, ActivitySpan } from '../../../observe/activity.ts';
import { type Html, html } from '../../html.ts';
import { counted, formatCount, timeOf } from '../../shown-values.ts';
import type { OverviewView } from './overview-view.ts';

const WIDTH = 960;
const HEIGHT = 120;
/** The height of the axis below the bars. */
const AXIS = 18;
const DAY_MS = 24 * 3_600_000;

/**
 * The last 24 hours: the figures, bars of deliveries with the failed ones in another colour, and the figures of each hour as
 * a table. The daemon counts in memory, so the figures begin with its start.
 */
export function activityChart({
  spans,
  hours,
  startedAt,
  now,
}: Pick<OverviewView, 'spans' | 'hours' | 'startedAt' | 'now'>): Html {
  const since =
    now - startedAt < DAY_MS
      ? html`Counted since this daemon started at ${timeOf(startedAt)}. Earlier runs are not counted here.`
      : html`This daemon started at ${timeOf(startedAt)} and has counted all of the last 24 hours.`;
  const counts = sumOf(hours);
  if (Object.values(counts).every((count) => count === 0)) {
    return html`<p class="quiet">${since} It has read and sent nothing in this time.</p>`;
  }
  const highest = Math.max(0, ...spans.map(({ delivered, failed }) => delivered + failed));
  const bars =
    highest === 0
      ? html`<p class="quiet">No item was delivered or has failed, so there is no chart.</p>`
      : chart(spans, highest);
  return html`<p class="quiet">${since}</p>
<p>${figuresText(counts)}</p>${bars}${table(hours)}`;
}

function sumOf(hours: readonly ActivitySpan[]): ActivityCounts {
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

function chart(spans: readonly ActivitySpan[], highest: number): Html {
  const step = WIDTH / spans.length;
  const tall = (count: number): number => (count === 0 ? 0 : Math.max(2, (count / highest) * HEIGHT));
  const bars = spans.map(({ delivered, failed }, at) => {
    const x = fixed(at * step + 1);
    const width = fixed(step - 2);
    const good = tall(delivered);
    const bad = tall(failed);
    return html`${bar('good', { x, width, top: HEIGHT - good, height: good })}${bar('bad', { x, width, top: HEIGHT - good - bad, height: bad })}`;
  });
  const marks = spans.flatMap(({ at }, index) => {
    const hour = new Date(at).toISOString().slice(11, 16);
    return Number(hour.slice(0, 2)) % 6 === 0 && hour.endsWith(':00')
      ? [
          html`<text x="${fixed(index * step)}" y="${HEIGHT + 4}" dy=".9em" data-hour="${new Date(at).toISOString()}">${hour} UTC</text>`,
        ]
      : [];
  });
  return html`<figure class="chart"><svg viewBox="0 -4 ${WIDTH} ${HEIGHT + AXIS + 4}" role="img" aria-label="Deliveries of the last 24 hours. The table below has the figures.">
<line x1="0" y1="${HEIGHT}" x2="${WIDTH}" y2="${HEIGHT}" />${bars}${marks}</svg>
<figcaption class="quiet">Deliveries in each quarter of an hour, at most ${formatCount(highest)}.
<span class="key good">delivered</span> <span class="key bad">failed</span></figcaption></figure>`;
}

function bar(
  tone: 'good' | 'bad',
  { x, width, top, height }: { x: string; width: string; top: number; height: number },
) {
  if (height === 0) return null;
  return html`<rect class="${tone}" x="${x}" y="${fixed(top)}" width="${width}" height="${fixed(height)}" />`;
}

function table(hours: readonly ActivitySpan[]): Html {
  const cell = (count: number): Html =>
    html`<td class="number${count === 0 ? ' zero' : ''}">${formatCount(count)}</td>`;
  const rows = hours
    .toReversed()
    .map(
      ({ at, rows: read, requests, refused, delivered, failed }) =>
        html`<tr><th scope="row"><time datetime="${new Date(at).toISOString()}" data-hour>${new Date(at).toISOString().slice(11, 16)} UTC</time></th>${[read, requests, refused, delivered, failed].map(cell)}</tr>`,
    );
  const heads = ['rows read', 'requests', 'refused (429)', 'delivered', 'failed'];
  return html`<details><summary>The same figures by the hour</summary><div class="scroll" tabindex="0" role="region" aria-label="Activity by the hour"><table>
<thead><tr><th scope="col">hour</th>${heads.map((head) => html`<th scope="col" class="number">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div></details>`;
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10);
}
