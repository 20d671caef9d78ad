// What `init` has found, in lines for people: the format of each file, its mapping, and how several files belong together.

import { kindWord } from '../../domain/words/states.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import type { Output } from '../text/output.ts';
import { printable, wrap } from '../text/style.ts';
import type { Join } from './join-files.ts';
import type { ProposedConfig, ProposedFile, ProposedRecords } from './propose-config.ts';
import type { ProposedLine } from './proposed-line.ts';
import type { FoundOption } from './recognise-format.ts';

const WIDTH = 100;
const NAME_WIDTH = 22;
const REASON_INDENT = ' '.repeat(NAME_WIDTH + 5);

/** Lines for people about the format that was recognised, and about the mappings that are proposed. */
export function foundLines({ file, recognised, records, todo }: ProposedFile, output: Output): string[] {
  const { paint } = output;
  const lines = [`${paint('bold', printable(file))} is ${recognised.title}.`];
  for (const option of [...recognised.options, ...recognised.stream]) lines.push(...optionLines(option, output));
  for (const [at, { stream, sample }] of records.entries()) {
    if (stream === records[at - 1]?.stream) continue;
    lines.push(`  ${sampleWords(sample)}`);
  }
  if (recognised.preset !== undefined) lines.push(`  The mapping comes from config/presets/${recognised.preset}.yaml.`);
  for (const { mapping } of records) {
    const { isTodo = false, reason, when } = mapping;
    const kind = { name: 'becomes', expression: kindWord(mapping.to), reason, isTodo };
    lines.push('');
    for (const line of [kind, mapping.key, ...(when === undefined ? [] : [when]), ...mapping.refs, ...mapping.fields])
      lines.push(...mappedLines(line, output));
  }
  for (const hint of recognised.hints) lines.push(...reasonLines('  ', hint, output));
  if (todo.length > 0) {
    const what = `${counted(todo.length, 'line')} with TODO: look at ${todo.length === 1 ? 'it' : 'them'} before a sync.`;
    lines.push('', paint('yellow', what));
  }
  return lines;
}

function optionLines({ name, value, reason, isTodo = false, isOff = false }: FoundOption, output: Output): string[] {
  return mappedLines({ name, expression: isOff ? null : JSON.stringify(value), reason, isTodo }, output);
}

function mappedLines({ name, expression, reason, isTodo }: ProposedLine, output: Output): string[] {
  const { paint } = output;
  const todo = isTodo ? paint('yellow', 'TODO') : '';
  const what = [todo, expression === null ? '' : printable(expression)].filter((part) => part !== '').join(' ');
  const first = `  ${name.padEnd(NAME_WIDTH)} ${what === '' ? paint('dim', 'left out') : what}`;
  return [first, ...reasonLines(REASON_INDENT, reason, output)];
}

function reasonLines(indent: string, reason: string, { paint, width }: Output): string[] {
  if (reason === '') return [];
  return wrap(printable(reason), (width ?? WIDTH) - indent.length).map((line) => `${indent}${paint('dim', line)}`);
}

function sampleWords({ records, columns, broken, isWhole }: ProposedRecords['sample']): string {
  const readable = broken === 0 ? '' : `, of which ${formatCount(records)} can be read`;
  return `${isWhole ? '' : 'Of the file, the first '}${counted(records + broken, 'record')} with ${counted(columns, 'column')}${readable}.`;
}

const REFS: Record<Join['ref'], string> = {
  product: 'the product',
  material: 'the material',
  component: 'the component',
  part: 'the part',
  record: 'a record',
};
const PARTS_SHOWN = 8;

function joinText({ file, ref, column, meets, found, of }: Join): string {
  const names = `${file}: ${column} names ${REFS[ref]}`;
  if (meets.length === 0)
    return `${names}, and none of its ${counted(of, 'value')} is a key of a file that it can mean`;
  const keys = `${formatCount(found)} of ${counted(of, 'value is a key', 'values are keys')} of ${meets.join(' and ')}`;
  return `${names}, ${keys}${ref === 'record' ? ', and nothing uses it yet' : ''}`;
}

/** Lines for people about how several files belong together. */
export function joinLines({ joins, joined }: Pick<ProposedConfig, 'joins' | 'joined'>, { paint }: Output): string[] {
  const lines = joins.map((join) => `  ${printable(joinText(join))}`);
  if (lines.length === 0)
    return [
      paint(
        'yellow',
        'No column of these files has keys of another file in half of its values, so nothing joins them yet.',
      ),
    ];
  if (joined === null) return [paint('bold', 'How the files belong together'), ...lines];
  const shown = joined.parts.slice(0, PARTS_SHOWN).map(({ quantity, unit, key, name }) => {
    const amount = [quantity, unit].filter((part) => part !== null).join(' ');
    return `    ${printable(amount)}  ${printable(key)}  ${name === null ? paint('yellow', 'in no file') : printable(name)}`;
  });
  const more = joined.parts.length - shown.length;
  return [
    paint('bold', 'How the files belong together'),
    ...lines,
    `  for example product ${printable(joined.key)} ${joined.name === null ? '' : printable(joined.name)}`,
    ...shown,
    ...(more > 0 ? [`    … and ${formatCount(more)} more`] : []),
  ];
}
