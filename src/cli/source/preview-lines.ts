import type { PreviewedRecord } from '../../daemon/preview/preview.ts';
import type { PreviewCounts } from '../../daemon/preview/preview-counts.ts';
import { formatPlace } from '../../domain/issue.ts';
import { ITEM_KINDS, type ItemRef } from '../../domain/item.ts';
import type { MappingDefinition } from '../../domain/mapping.ts';
import { kindWord } from '../../domain/words/states.ts';
import type { Output } from '../text/output.ts';
import { fieldLines, repeatedRows } from '../text/row-lines.ts';
import { formatCount, plural, printable, shorten, wrap } from '../text/style.ts';
import { countKind, formatIssue, formatValue } from '../text/words.ts';

const MARKS = { mapped: '✓', excluded: '–', quarantined: '✗' } as const;
const COLOURS = { mapped: 'green', excluded: 'dim', quarantined: 'red' } as const;

/** How many characters a line has besides its two cells. */
const BETWEEN = 5;
const LEFT_MAX = 46;
const RIGHT_MIN = 30;
/** The longest value on a line if there is no terminal. */
const RIGHT_WITHOUT_TERMINAL = 100;

/**
 * A record beside the items that it maps to.
 *
 * @param mappings the mappings of its stream
 */
export function recordLines(
  record: PreviewedRecord,
  mappings: readonly MappingDefinition[],
  { paint, width }: Output,
): string[] {
  const { place, status } = record;
  const left = width === null ? LEFT_MAX : Math.min(LEFT_MAX, Math.floor((width - BETWEEN) * 0.45));
  const right = width === null ? RIGHT_WITHOUT_TERMINAL : Math.max(RIGHT_MIN, width - BETWEEN - left);
  return [
    `${paint(COLOURS[status], `${MARKS[status]} ${status}`)}  ${printable(formatPlace(place))}`,
    ...sideBySide(
      fieldLines(record.fields, 200),
      status === 'excluded'
        ? excludedLines(mappings, { paint, width: right })
        : itemLines(record, { paint, width: right }),
      { paint, width: left },
    ),
    '',
  ];
}

/** The size of a cell, and how it is coloured. */
interface Cell {
  paint: Output['paint'];
  width: number;
}

/** Why each mapping of the stream makes no item of a record. */
function excludedLines(mappings: readonly MappingDefinition[], { paint, width }: Cell): string[] {
  if (mappings.length === 0) return [paint('dim', 'no mapping uses this stream')];
  return mappings.flatMap(({ path, when, each, module }) => {
    const reasons = [
      ...(when === undefined ? [] : [`when is false: ${when}`]),
      ...(each === undefined ? [] : [`each is an empty list: ${each}`]),
      ...(module === undefined ? [] : ['its module makes no item']),
    ];
    const name = path.slice(path.lastIndexOf('.') + 1);
    return wrap(printable(`${name}: ${reasons.join('; or ')}`), width).map((line) => paint('dim', line));
  });
}

function itemLines({ items, issues }: PreviewedRecord, { paint, width }: Cell): string[] {
  const lines = issues.flatMap((issue) => [
    ...wrap(formatIssue(issue), width).map((line) => paint('red', line)),
    ...(issue.cure === undefined ? [] : wrap(printable(issue.cure), width - 2).map((line) => `  ${line}`)),
  ]);
  for (const { kind, key, payload, refs } of items) {
    const names = [...Object.keys(payload), ...refs.map(roleWord)];
    const nameWidth = Math.max(0, ...names.map((name) => name.length));
    const valueWidth = Math.max(10, Math.min(72, width - nameWidth - 4));
    lines.push(paint('bold', shorten(`${kindWord(kind)} ${printable(key)}`, width)));
    for (const ref of refs) {
      const kindOfRef = ref.either === true ? 'product or material' : kindWord(ref.kind);
      lines.push(
        `  ${roleWord(ref).padEnd(nameWidth)}  ${shorten(`→ ${kindOfRef} ${printable(ref.key)}`, valueWidth)}`,
      );
    }
    for (const [name, value] of Object.entries(payload)) {
      lines.push(`  ${name.padEnd(nameWidth)}  ${formatValue(value, valueWidth)}`);
    }
  }
  return lines;
}

/** The name of a ref as mappings write it. */
function roleWord({ role, either }: ItemRef): string {
  return either === true ? 'part' : role;
}

function sideBySide(left: readonly string[], right: readonly string[], { paint, width }: Cell): string[] {
  const lines: string[] = [];
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const cell = shorten(left[index] ?? '', width).padEnd(width);
    lines.push(`  ${paint('dim', `${cell} │`)} ${right[index] ?? ''}`);
  }
  return lines;
}

const ISSUES_SHOWN = 20;

/** Lines about all records of a stream or of a source. */
export function countLines(title: string, counts: PreviewCounts, { paint, width: terminal }: Output): string[] {
  const { records, items, repeating, whole, conflicting, conflict, uncompared, issues, otherIssues } = counts;
  const lines = [`${paint('bold', title)}  ${recordWords(counts)}`];
  const made = ITEM_KINDS.filter((kind) => items[kind] > 0).map((kind) => countKind(items[kind], kind));
  if (records > 0) lines.push(`  ${made.length === 0 ? paint('yellow', 'no items') : `items: ${made.join(', ')}`}`);
  const repeated = repeatedRows({ count: repeating, whole });
  const said = [repeated.whole, repeated.shared].filter((words) => words !== null);
  if (said.length > 0) lines.push(`  ${said.join('. ')}. Each item is sent once.`);
  if (conflict !== null) {
    const which = `${printable(formatPlace(conflict.place))} (${kindWord(conflict.kind)} ${printable(conflict.key)})`;
    const more = conflicting === 1 ? '' : ', …';
    const rows = plural(conflicting, 'row makes an item', 'rows make items');
    const them = conflicting === 1 ? 'it' : 'them';
    lines.push(
      paint(
        'yellow',
        `  ${rows} that another row makes with other values: ${which}${more}. A sync quarantines ${them}.`,
      ),
    );
  }
  if (uncompared > 0) {
    lines.push(
      `  ${plural(uncompared, 'item is', 'items are')} counted but not compared with earlier items, because there are too many`,
    );
  }
  const width = formatCount(issues[0]?.records ?? 0).length;
  const textWidth = (terminal ?? Number.POSITIVE_INFINITY) - width - 6;
  for (const { code, field, records: having, example } of issues.slice(0, ISSUES_SHOWN)) {
    const where = field === null ? '' : ` in ${printable(field)}`;
    const count = formatCount(having).padStart(width);
    lines.push(
      `  ${paint('red', `✗ ${count}`)}  ${paint('bold', printable(code))}${where}`,
      ...wrap(`${printable(formatPlace(example.place))}: ${printable(example.message)}`, textWidth).map(
        (line) => `    ${' '.repeat(width)}  ${paint('dim', line)}`,
      ),
    );
  }
  const left = issues.length - ISSUES_SHOWN;
  if (left > 0) lines.push(`  and ${plural(left, 'other kind')} of issue; --json has them`);
  if (otherIssues > 0) lines.push(`  and ${plural(otherIssues, 'issue')} of further kinds`);
  return lines;
}

function recordWords({ records, mapped, excluded, quarantined }: PreviewCounts): string {
  if (records === 0) return 'no records';
  const counted = Object.entries({ mapped, excluded, quarantined }).filter(([, count]) => count > 0);
  return `${plural(records, 'record')}: ${counted.map(([status, count]) => `${formatCount(count)} ${status}`).join(', ')}`;
}
