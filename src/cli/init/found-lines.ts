import { kindWord } from '../../domain/words/states.ts';
import type { Output } from '../text/output.ts';
import { formatCount, plural, printable, wrap } from '../text/style.ts';
import type { ProposedConfig } from './propose-config.ts';
import type { ProposedLine } from './proposed-line.ts';
import type { FoundOption } from './recognise-format.ts';

const WIDTH = 100;
const NAME_WIDTH = 22;
const REASON_INDENT = ' '.repeat(NAME_WIDTH + 5);

/** Lines for people about the format that was recognised, and about the mapping that is proposed. */
export function foundLines(file: string, found: ProposedConfig, output: Output): string[] {
  const { recognised, mapping, sample, todo } = found;
  const { paint } = output;
  const lines = [`${paint('bold', printable(file))} is ${recognised.title}.`];
  for (const option of [...recognised.options, ...recognised.stream]) lines.push(...optionLines(option, output));
  if (sample !== null) lines.push(`  ${sampleWords(sample)}`);
  if (recognised.preset !== undefined) lines.push(`  The mapping comes from config/presets/${recognised.preset}.yaml.`);
  if (mapping !== null) {
    const isTodo = false;
    const kind = { name: 'becomes', expression: kindWord(mapping.to), reason: mapping.reason, isTodo };
    lines.push('');
    for (const line of [kind, mapping.key, ...mapping.refs, ...mapping.fields])
      lines.push(...mappedLines(line, output));
  }
  for (const hint of recognised.hints) lines.push(...reasonLines('  ', hint, output));
  if (todo.length > 0) {
    const what = `${plural(todo.length, 'line')} with TODO: look at ${todo.length === 1 ? 'it' : 'them'} before a sync.`;
    lines.push('', paint('yellow', what));
  }
  return lines;
}

function optionLines({ name, value, reason, isTodo = false }: FoundOption, output: Output): string[] {
  return mappedLines({ name, expression: JSON.stringify(value), reason, isTodo }, output);
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

function sampleWords({ records, columns, broken, isWhole }: NonNullable<ProposedConfig['sample']>): string {
  const readable = broken === 0 ? '' : `, of which ${formatCount(records)} can be read`;
  return `${isWhole ? '' : 'Of the file, the first '}${plural(records + broken, 'record')} with ${plural(columns, 'column')}${readable}.`;
}
