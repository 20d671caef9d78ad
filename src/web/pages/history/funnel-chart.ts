import { PASSPORT_STATES, type PassportState } from '../../../domain/passport.ts';
import { stateWord } from '../../../domain/words/states.ts';
import type { HistoryDocument } from '../../../operations/history.ts';
import { type Html, html, joined } from '../../html.ts';
import { dataTable } from '../../parts.ts';
import { countLink, formatCount, KINDS } from '../../shown-values.ts';
import { attentionPath, itemsPath, passportsPath } from '../links.ts';
import { bar, figuresBehind, type Look, label, legend, picture } from './chart-parts.ts';

type Funnel = HistoryDocument['funnel'];

const DONE: Look = { fill: 'solid', tone: 'accent' };
const LEFT: Look = { fill: 'hatch', tone: 'warn' };
const ROW = 46;
const BAR = 18;

interface Step {
  name: string;
  /** How many have come so far. */
  done: number;
  /** How many of the step have not come so far, in words and without their number; null for a step that none fails. */
  left: { count: number; name: string } | null;
  /** The lists that have the counted rows, with their figures. */
  lists: readonly Html[];
}

function stepsOf(funnel: Funnel, passportsWanted: boolean): Step[] {
  const { rows, quarantined, items, delivered, products, complete, published, kinds, passports } = funnel;
  const ofKinds = (figure: 'items' | 'delivered') =>
    kinds.map(({ kind, ...counts }) => {
      const state = figure === 'delivered' ? 'delivered' : undefined;
      return html`${countLink(counts[figure], itemsPath({ kind, state }))} ${KINDS[kind].many}`;
    });
  const ofStates = (states: readonly PassportState[]) =>
    states
      .filter((state) => (passports[state] ?? 0) > 0)
      .map((state) => html`${countLink(passports[state] ?? 0, passportsPath({ state }))} ${stateWord(state)}`);
  const inQuarantine = html`${countLink(quarantined, attentionPath({ type: 'quarantine' }))} with an error`;
  const steps: Step[] = [
    {
      name: 'Rows without an error',
      done: rows - quarantined,
      left: { count: quarantined, name: 'with an error' },
      lists: [inQuarantine],
    },
    { name: 'Items made from them', done: items, left: null, lists: ofKinds('items') },
    {
      name: 'Items delivered',
      done: delivered,
      left: { count: items - delivered, name: 'not delivered' },
      lists: ofKinds('delivered'),
    },
  ];
  if (!passportsWanted) return steps;
  return [
    ...steps,
    {
      name: 'Products complete',
      done: complete,
      left: { count: products - complete, name: 'not complete' },
      lists: ofStates(PASSPORT_STATES),
    },
    {
      name: 'Passports published',
      done: published,
      left: { count: complete - published, name: 'not public yet' },
      lists: ofStates(['published']),
    },
  ];
}

/** How far the rows of the sources have come. All figures are of now. */
export function funnelChart(funnel: Funnel, { passportsWanted }: { passportsWanted: boolean }): Html {
  const steps = stepsOf(funnel, passportsWanted);
  const most = Math.max(...steps.map(({ done, left }) => done + (left?.count ?? 0)));
  if (most === 0) return html`<p class="quiet">No source was read yet.</p>`;
  const body = steps.map(({ name, done, left }, at) => {
    const y = at * ROW;
    const rest = left === null || left.count === 0 ? '' : `, ${formatCount(left.count)} ${left.name}`;
    const width = done / most;
    const height = BAR;
    return html`${label(`${name}: ${formatCount(done)}${rest}`, { x: 0, y: y + 13 })}${bar(DONE, { x: 0, width, y: y + 19, height })}${bar(
      LEFT,
      { x: width, width: (left?.count ?? 0) / most, y: y + 19, height },
    )}`;
  });
  const caption = html`Rows, items and products are counted, so a step may be longer than the step before. ${legend([
    { name: 'came so far', look: DONE },
    { name: 'did not yet', look: LEFT },
  ])}`;
  const name = 'How far the rows have come. The table below has the figures.';
  return html`${picture({ height: steps.length * ROW, name, body, caption })}${figuresBehind(table(steps))}`;
}

function table(steps: readonly Step[]): Html {
  return dataTable({
    caption: 'How far the rows have come',
    columns: [
      { name: 'step' },
      { name: 'came so far', number: true },
      { name: 'did not yet', number: true },
      { name: 'lists' },
    ],
    rows: steps.map(({ name, done, left, lists }) => [
      name,
      formatCount(done),
      left === null ? null : `${formatCount(left.count)} ${left.name}`,
      joined(lists),
    ]),
  });
}
