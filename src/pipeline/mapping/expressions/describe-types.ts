import { BOUNDED } from '../functions/text.ts';
import type { ExpressionProblem } from './expression-problem.ts';

const WORDS: Record<string, string> = {
  string: 'text',
  int: 'number',
  double: 'number',
  uint: 'number',
  bool: 'true/false',
  list: 'list',
  map: 'object',
  bytes: 'bytes',
  null: 'null',
  dyn: 'any value',
};

/** Rewords the CEL library's messages about types, such as `no such overload: dyn<string> > int`. */
export function describeTypes(summary: string): ExpressionProblem {
  const call = /^found no matching overload for '(?:(.+)\.)?(\w+)\((.*)\)'$/.exec(summary);
  if (call) return describeCall(call[1], call[2] ?? '', call[3] ?? '');
  const binary = /^no such overload: (\S.*?) ([-+*/%<>=!]+|in) (.+)$/.exec(summary);
  if (binary) return describeOperator(wordOf(binary[1] ?? ''), binary[2] ?? '', wordOf(binary[3] ?? ''));
  const unary = /^no such overload: ([-!])(.+)$/.exec(summary);
  if (unary) return { message: `${unary[1]} cannot be applied to ${wordOf(unary[2] ?? '')}.` };
  const operand = /, got '(.+)'$/.exec(summary);
  if (operand) {
    const message = `A condition must be true or false, but this is ${wordOf(operand[1] ?? '')}.`;
    return { message, cure: 'Write a comparison, for example row.FLAG == "X".' };
  }
  return { message: `${summary}.` };
}

function describeOperator(left: string, operator: string, right: string): ExpressionProblem {
  const message = `${operator} cannot be applied to ${left} and ${right}.`;
  if (left === 'null' || right === 'null') {
    return { message, cure: 'Give a fallback for empty values, for example row.X == null ? "" : row.X.' };
  }
  if (left === 'text' || right === 'text') {
    return { message, cure: 'Convert the text to a number first: double(row.X), or double(decimal(row.X, ",")).' };
  }
  return { message };
}

function describeCall(receiver: string | undefined, name: string, args: string): ExpressionProblem {
  const given = args === '' ? 'nothing' : args.split(', ').map(wordOf).join(', ');
  const owner = receiver === undefined ? '' : ` of ${wordOf(receiver)}`;
  const method = name.replace(BOUNDED, '');
  return { message: `${method}()${owner} cannot be called with ${given}.` };
}

/** The plain word for a type: "text" for `dyn<string>`, "a list" for `list<dyn>`. */
export function wordOf(type: string): string {
  const inner = /^dyn<(.+)>$/.exec(type)?.[1] ?? type;
  const name = inner.replace(/<.*$/, '');
  return WORDS[name] ?? name;
}
