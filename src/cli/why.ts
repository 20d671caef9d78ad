import type { Command } from 'commander';
import type { Why, WhyStep } from '../domain/ports/ledger/dashboard-views.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import { why } from '../operations/items.ts';
import { readingsOf, unknownItem } from '../operations/named.ts';
import { answered } from './answers.ts';
import type { CommandContext, RunAction } from './context.ts';
import type { Output } from './text/output.ts';
import { type Colour, printable } from './text/style.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync why TWZ-180-LS                     by SKU, or by the key that the mapping gives
  $ dpp-sync why TWZ-180-LS --json | jq -r .answer
  $ dpp-sync why 'A 12/3'                       a key with a space or a slash
  $ dpp-sync why TWZ-180-LS --quiet && echo published

The steps go from the row of the source to the passport. A person has to correct a step with ✗. A step with … needs no person.
A product that is only in quarantine has an answer as well.

Exit codes: 0 if the passport is published and no step has ✗, else 4; 2 if no row names the product.`;

export function addWhyCommand(program: Command, run: RunAction): void {
  program
    .command('why')
    .argument('<sku>', 'the SKU of a product, or its key')
    .addHelpText('after', EXAMPLES)
    .action((sku: string) => run((context) => answerWhy(sku, context)));
}

async function answerWhy(sku: string, context: CommandContext): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig('ledger');
  return context.withViews(config, async (opened) => {
    const found = opened && (await whyOf(sku, opened.reads));
    if (found === null) throw await unknownItem('product', sku, opened?.reads ?? null);
    return answered(output, { operation: why, result: found }, whyLines(found, output.paint));
  });
}

/**
 * Why the passport of a product is published or not; null if the name belongs to no product and to no row of a product.
 */
async function whyOf(name: string, reads: Reads): Promise<Why | null> {
  for (const reading of readingsOf(name)) {
    const found = await reads.why(reading);
    if (found !== null) return found;
  }
  return null;
}

const SIGNS: Record<WhyStep['standing'], { sign: string; colour: Colour }> = {
  ok: { sign: '✓', colour: 'green' },
  stop: { sign: '✗', colour: 'red' },
  waits: { sign: '…', colour: 'yellow' },
  unknown: { sign: '?', colour: 'dim' },
};

function whyLines({ answer, name, steps }: Why, paint: Output['paint']): string[] {
  const title = name === null ? [] : [paint('dim', printable(name))];
  return [paint('bold', printable(answer)), ...title, '', ...steps.flatMap((one) => stepLines(one, paint))];
}

function stepLines(step: WhyStep, paint: Output['paint']): string[] {
  const { standing, text, command } = step;
  const { sign, colour } = SIGNS[standing];
  const line = `  ${paint(colour, sign)} ${printable(text)}`;
  if (command === null) return [line];
  return [line, `      ${needsCorrection(step) ? 'then: ' : ''}${paint('cyan', printable(command))}`];
}

/**
 * True if the command reads the source of a row or an item again, so that it helps only after the row was corrected.
 */
function needsCorrection({ command, item, record }: WhyStep): boolean {
  return (item !== null || record !== null) && /^dpp-sync sync (?!--)/.test(command ?? '');
}
