// What people read about cases.

import { ITEM_KINDS } from '../../domain/item.ts';
import { kindWord } from '../../domain/words/states.ts';
import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { counted } from '../../lib/text/amounts.ts';
import type { TestedCase } from '../../operations/test-document.ts';
import type { Paint } from '../text/style.ts';
import { printable, shorten } from '../text/style.ts';

type Difference = TestedCase['differences'][number];

/** A line for each case, and below a failed one what has changed. */
export function resultLines(results: readonly TestedCase[], paint: Paint): string[] {
  return [...Map.groupBy(results, ({ file }) => file)].flatMap(([file, ofFile]) => [
    paint('bold', printable(file)),
    ...ofFile.flatMap((result) => caseLines(result, paint)),
    '',
  ]);
}

export function summaryLine(results: readonly TestedCase[], paint: Paint): string {
  const failed = results.filter(hasFailed).length;
  const text = `${counted(results.length, 'case')}: ${results.length - failed} passed, ${failed} failed`;
  return paint(failed > 0 ? 'red' : 'green', text);
}

export function hasFailed({ result }: TestedCase): boolean {
  return result === 'failed';
}

function caseLines(result: TestedCase, paint: Paint): string[] {
  const { file, line, name } = result;
  if (!hasFailed(result)) return [`  ${paint('green', '✓')} ${printable(name)}`];
  return [
    `  ${paint('red', '✗')} ${printable(name)}  ${paint('dim', placeOf(file, line))}`,
    ...differenceLines(result, paint).map((one) => `      ${one}`),
  ];
}

function placeOf(file: string, line: number | null): string {
  return printable(line === null ? file : `${file}:${line}`);
}

const plain: Paint = (_, text) => text;

/** What a failed case expects and what it got, in lines. */
export function differenceLines({ differences, hints }: TestedCase, paint: Paint = plain): string[] {
  return [
    ...differences.flatMap((difference) => {
      const { line } = difference;
      const { expected, got } = valuesOf(difference);
      return [
        `${titleOf(difference)}${line === null ? '' : paint('dim', ` (line ${line})`)}`,
        paint('green', `  expected  ${expected}`),
        paint('red', `  got       ${got}`),
      ];
    }),
    ...hints.map(printable),
  ];
}

/** The place in words: `product 4711, country_of_origin`. */
function titleOf({ path, item }: Difference): string {
  if (item === null) return path.startsWith('issue') ? 'issue' : path;
  const name = `${kindWord(item.kind)} ${item.key}`;
  const part = /^items\[\d+\]\.(?:fields\.)?(.+)$/.exec(path)?.[1];
  return printable(part === undefined ? name : `${name}, ${part}`);
}

function valuesOf({ path, expected, got }: Difference): { expected: string; got: string } {
  if (typeof expected === 'string' && typeof got === 'string') {
    const start = startShown(expected, got);
    return { expected: cut(expected, start), got: cut(got, start) };
  }
  const absent = path === 'excluded' ? 'false' : 'nothing';
  return { expected: textOf(expected, absent), got: textOf(got, absent) };
}

const SHOWN_MAX = 120;
const BEFORE = 30;

/** Long texts are shown from shortly before the first character that differs. */
function startShown(one: string, other: string): number {
  if (Math.max(one.length, other.length) <= SHOWN_MAX) return 0;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return Math.max(0, at - BEFORE);
}

function cut(text: string, start: number): string {
  const shown = JSON.stringify(text.slice(start, start + SHOWN_MAX));
  return printable(`${start > 0 ? '…' : ''}${shown}${text.length > start + SHOWN_MAX ? '…' : ''}`);
}

/** @param absent the text of no value */
function textOf(value: JsonValue | undefined, absent: string): string {
  if (value === undefined) return absent;
  if (isJsonObject(value)) {
    const { code, field, message, kind, key, fields } = value;
    if (typeof code === 'string') {
      const where = typeof field === 'string' ? ` in ${field}` : '';
      const found = message === undefined && value['value'] !== undefined ? `: ${JSON.stringify(value['value'])}` : '';
      return printable(`${code}${where}${typeof message === 'string' ? `: ${message}` : found}`);
    }
    const known = ITEM_KINDS.find((one) => one === kind);
    if (known !== undefined && typeof key === 'string') {
      const content = fields === undefined ? '' : ` ${JSON.stringify(fields)}`;
      return shorten(printable(`${kindWord(known)} ${key}${content}`), SHOWN_MAX);
    }
  }
  return shorten(printable(JSON.stringify(value)), SHOWN_MAX);
}
