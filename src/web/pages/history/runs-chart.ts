import { DAY_MS } from '../../../domain/activity.ts';
import { stateWord } from '../../../domain/words/states.ts';
import type { HistoryDocument } from '../../../operations/history.ts';
import { type Html, html } from '../../html.ts';
import { dataTable } from '../../parts.ts';
import { counted, figure, formatCount, stateBadge } from '../../shown-values.ts';
import { runsPath } from '../links.ts';
import { bar, dayText, figuresBehind, type Look, label, legend, picture, type Tone } from './chart-parts.ts';

type Day = HistoryDocument['runDays'][number];

const NAME = 18;
const CELL = 20;
const ROW = NAME + CELL + 8;
/** A label for each so many days. */
const LABEL_DAYS = 7;

/** The results, the worst first: the worst result of a day is shown. A complete day has no letter. */
const RESULTS = ['failed', 'guarded', 'held', 'interrupted', 'running', 'complete'] as const;
type Result = (typeof RESULTS)[number];
const LETTERS: Record<Result, string> = {
  failed: 'F',
  guarded: 'H',
  held: 'A',
  interrupted: 'I',
  running: 'R',
  complete: '',
};
const TONES: Record<Exclude<Result, 'complete'>, Tone> = {
  failed: 'bad',
  guarded: 'warn',
  held: 'warn',
  interrupted: 'warn',
  running: 'idle',
};

/** The shades of a complete day: nothing changed, less than a tenth of the most changed rows, less than half, and more. */
const SHADES: readonly { below: number; look: Look; name: string }[] = [
  { below: 0, look: { fill: 'empty', tone: 'good' }, name: 'complete, nothing changed' },
  { below: 0.1, look: { fill: 'dots', tone: 'good' }, name: 'up to a tenth of the most rows' },
  { below: 0.5, look: { fill: 'hatch', tone: 'good' }, name: 'up to half' },
  { below: Number.POSITIVE_INFINITY, look: { fill: 'solid', tone: 'good' }, name: 'more' },
];

/** The worst result of a source on a day. */
function resultOf(day: Day): Result {
  return RESULTS.find((result) => day[result] > 0) ?? 'complete';
}

/** The days of each source: the worst result, and how many rows changed. */
export function runsChart(days: readonly Day[], { today, shown }: { today: number; shown: number }): Html {
  if (days.length === 0) return html`<p class="quiet">No source was read in the last ${counted(shown, 'day')}.</p>`;
  const first = today - (shown - 1) * DAY_MS;
  const most = Math.max(0, ...days.map(({ changed }) => changed));
  const sources = [...Map.groupBy(days, ({ source }) => source)];
  const rows = sources.map(([source, ofSource], row) => {
    const y = row * ROW;
    const cells = ofSource.map((day) =>
      cell(day, { x: (day.day - first) / DAY_MS / shown, width: 1 / shown, y: y + NAME, most }),
    );
    return html`${label(source, { x: 0, y: y + 13 })}${cells}`;
  });
  const end = sources.length * ROW;
  const marks = Array.from({ length: Math.floor(shown / LABEL_DAYS) }, (_, at) =>
    label(dayText(first + at * LABEL_DAYS * DAY_MS).slice(5), { x: (at * LABEL_DAYS) / shown, y: end + 8 }),
  );
  const letters = RESULTS.filter((result) => result !== 'complete').map(
    (result) => html`<span class="sample"><b>${LETTERS[result]}</b> ${stateWord(result)}</span>`,
  );
  const caption = html`${counted(shown, 'day')} in UTC, by the day on which a run began. A day shows the worst of its runs, and at most ${counted(most, 'row')} changed. Of each source the last 400 runs are kept, so a source that runs often has fewer days here, and the first of them may not be whole.
<span class="samples">${letters}</span> ${legend(SHADES.map(({ name, look }) => ({ name, look })))}`;
  return html`${picture({ height: end + 14, name: 'Results of the sources on each day. The table below has them as words.', body: [...rows, ...marks], caption })}${figuresBehind(
    table(days),
  )}`;
}

function cell(day: Day, { x, width, y, most }: { x: number; width: number; y: number; most: number }): Html {
  const result = resultOf(day);
  const look: Look = result === 'complete' ? shadeOf(day.changed, most) : { fill: 'empty', tone: TONES[result] };
  const box = { x: x + width * 0.06, width: width * 0.88, y, height: CELL };
  const letter = LETTERS[result];
  return html`${bar(look, box)}${bar({ fill: 'empty', tone: look.tone }, box)}${letter === '' ? null : label(letter, { x: x + width / 2, y: y + 15, anchor: 'middle' })}`;
}

function shadeOf(changed: number, most: number): Look {
  const share = changed === 0 ? -1 : changed / most;
  return (SHADES.find(({ below }) => share < below) ?? { look: { fill: 'solid', tone: 'good' } as const }).look;
}

function table(days: readonly Day[]): Html {
  const ordered = days.toSorted((a, b) => b.day - a.day || (a.source < b.source ? -1 : 1));
  return dataTable({
    caption: 'Runs by day and source',
    columns: [
      { name: 'day (UTC)' },
      { name: 'source' },
      { name: 'result' },
      ...['runs', 'failed', 'held', 'interrupted', 'rows changed'].map((name) => ({ name, number: true })),
    ],
    rows: ordered.map((day) => [
      dayText(day.day),
      html`<a href="${runsPath({ source: day.source })}">${day.source}</a>`,
      stateBadge(resultOf(day)),
      formatCount(day.runs),
      figure(day.failed),
      figure(day.guarded + day.held),
      figure(day.interrupted),
      figure(day.changed),
    ]),
  });
}
