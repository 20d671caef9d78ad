import { DAY_MS } from '../../../domain/activity.ts';
import { PASSPORT_STATES, type PassportState } from '../../../domain/passport.ts';
import { stateWord } from '../../../domain/words/states.ts';
import type { HistoryDocument } from '../../../operations/history.ts';
import { type Html, html } from '../../html.ts';
import { dataTable } from '../../parts.ts';
import { counted, figure, formatCount } from '../../shown-values.ts';
import { bar, baseLine, dayText, figuresBehind, type Look, label, legend, picture, tall } from './chart-parts.ts';

const HEIGHT = 140;
const TOP = 18;
/** A label for each so many days. */
const LABEL_DAYS = 30;

const LOOKS: Record<PassportState, Look> = {
  published: { fill: 'solid', tone: 'good' },
  initialized: { fill: 'stripes', tone: 'accent' },
  unpublished: { fill: 'dots', tone: 'idle' },
  incomplete: { fill: 'hatch', tone: 'warn' },
  blocked: { fill: 'cross', tone: 'bad' },
  none: { fill: 'empty', tone: 'idle' },
};

type Days = HistoryDocument['passportDays'];

/** The passports by state, one bar for each day. A day on which nothing was counted is a gap. */
export function passportsChart(days: Days, { today, shown }: { today: number; shown: number }): Html {
  if (days.length === 0)
    return html`<p class="quiet">No passport was counted yet. dpp-sync counts them while it works.</p>`;
  const states = PASSPORT_STATES.filter((state) => days.some(({ counts }) => (counts[state] ?? 0) > 0));
  const sums = days.map(({ counts }) => states.reduce((sum, state) => sum + (counts[state] ?? 0), 0));
  const highest = Math.max(0, ...sums);
  const first = today - (shown - 1) * DAY_MS;
  const bars = days.flatMap(({ day, counts }) => {
    const x = (day - first) / DAY_MS / shown;
    let y = TOP + HEIGHT;
    return states.map((state) => {
      const height = tall(counts[state] ?? 0, highest, HEIGHT);
      y -= height;
      return bar(LOOKS[state], { x, width: 1 / shown, y, height });
    });
  });
  const marks = Array.from({ length: Math.floor(shown / LABEL_DAYS) }, (_, at) =>
    label(dayText(first + at * LABEL_DAYS * DAY_MS), { x: (at * LABEL_DAYS) / shown, y: TOP + HEIGHT + 14 }),
  );
  const gaps = shown - days.length;
  const caption = html`${counted(shown, 'day')} in UTC, at most ${counted(highest, 'passport')}. ${
    gaps === 0 ? null : `${counted(gaps, 'day')} without a count ${gaps === 1 ? 'is' : 'are'} empty. `
  }${legend(states.map((state) => ({ name: stateWord(state), look: LOOKS[state] })))}`;
  const svg = [label(formatCount(highest), { x: 0, y: 12 }), baseLine(TOP + HEIGHT), ...bars, ...marks];
  return html`${picture({ height: TOP + HEIGHT + 20, name: 'Passports by state on each day. The table below has the figures.', body: svg, caption })}${figuresBehind(
    table(days, states),
  )}`;
}

function table(days: Days, states: readonly PassportState[]): Html {
  return dataTable({
    caption: 'Passports by state and day',
    columns: [{ name: 'day (UTC)' }, ...states.map((state) => ({ name: stateWord(state), number: true }))],
    rows: days
      .toReversed()
      .map(({ day, counts }) => [dayText(day), ...states.map((state) => figure(counts[state] ?? 0))]),
  });
}
