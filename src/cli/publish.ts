import type { Command } from 'commander';
import { unknownItem } from '../admin/unknown-item.ts';
import { exitCodeOf, type SyncReport, sync } from '../daemon/sync.ts';
import type { PassportAnswer } from '../domain/passport.ts';
import type { PassportView } from '../domain/ports/ledger-views.ts';
import { seconds } from './arguments.ts';
import type { CommandContext, RunAction } from './context.ts';
import { errorDocument, failureLines, failureOf } from './errors.ts';
import { printable } from './style.ts';
import { syncWith, WAIT_SECONDS } from './sync.ts';
import { PASSPORT_COLOURS } from './words.ts';

const PUBLISH_EXAMPLES = `
Examples:
  $ dpp-sync publish TWZ-180-LS
  $ dpp-sync publish TWZ-180-LS TWZ-220-XL --json

A passport is published only when its product is complete: the product and its BOM items are at the platform as their
source has them, and no row of theirs is in quarantine. What is missing is told, and nothing is sent (exit code 4).
A passport that was never initialised is initialised first.`;

const UNPUBLISH_EXAMPLES = `
Examples:
  $ dpp-sync unpublish TWZ-180-LS

It stays unpublished until you publish it again, whatever the config says of publishing.`;

type Asked = 'published' | 'unpublished';

export function addPublishCommands(program: Command, run: RunAction): void {
  const add = (name: string, status: Asked, description: string, examples: string): void => {
    program
      .command(name)
      .description(description)
      .argument('<sku...>', 'products, by SKU or by the key that the mapping gives')
      .option('--wait <seconds>', 'how long the API or the queue may be out of reach', seconds, WAIT_SECONDS)
      .addHelpText('after', examples)
      .action((skus: string[], { wait }: { wait: number }) => run((context) => ask(skus, status, { context, wait })));
  };
  add('publish', 'published', 'publish the passports of products', PUBLISH_EXAMPLES);
  add('unpublish', 'unpublished', 'withdraw the passports of products', UNPUBLISH_EXAMPLES);
}

/** What became of one passport. */
interface Outcome extends PassportAnswer {
  passport: PassportView | null;
}

async function ask(
  skus: readonly string[],
  status: Asked,
  { context, wait }: { context: CommandContext; wait: number },
): Promise<number> {
  const { output, clock } = context;
  const config = await context.loadConfig();
  const command = status === 'published' ? 'publish' : 'unpublish';
  let outcomes: Outcome[] = [];
  const { report } = await syncWith(context, config, { command, sources: [] }, async (runtime, abort) => {
    const { views } = runtime;
    const products = [...new Set(skus)];
    for (const product of products) {
      if (views.item('product', product) === null) throw unknownItem('product', product, views);
    }
    const answers = await runtime.ledger.askForPassports({ products, status });
    const result = await sync(runtime, { sources: [], waitMs: wait * 1000, abort, pull: false }, clock);
    outcomes = answers.map((answer) => ({
      ...answer,
      passport: views.passport(answer.asked),
    }));
    return result;
  });
  const exitCode = exitCodeFor(outcomes, status, report);
  if (output.json) {
    output.document({
      ok: exitCode === 0,
      passports: outcomes.map(({ asked, key, naturalKey, holds, passport }) => ({
        asked,
        key,
        sku: naturalKey,
        state: passport?.state ?? null,
        reason: passport?.reason ?? null,
        holds,
      })),
      ...(report.fault === null ? {} : { error: errorDocument(failureOf(report.fault)) }),
    });
  }
  output.print(...outcomes.flatMap((outcome) => outcomeLines(outcome, status, context)));
  if (report.fault !== null) for (const line of failureLines(failureOf(report.fault))) output.error(line);
  return exitCode;
}

function isDone({ passport }: Outcome, status: Asked): boolean {
  if (status === 'published') return passport?.acknowledged === 'published';
  return passport !== null && passport.acknowledged !== 'published';
}

/** What was asked for decides; other items that need a person are none of this command's business. */
function exitCodeFor(outcomes: readonly Outcome[], status: Asked, report: SyncReport): number {
  if (outcomes.every((outcome) => isDone(outcome, status))) return 0;
  if (report.fault !== null) return exitCodeOf(report);
  return 4;
}

function outcomeLines(outcome: Outcome, status: Asked, { output }: CommandContext): string[] {
  const { asked, result, holds, passport } = outcome;
  const { paint } = output;
  const name = printable(asked);
  if (isDone(outcome, status)) {
    const before = result === 'settled' ? ' already' : '';
    const words = status === 'published' ? `published${before}` : `not public${before === '' ? ' any more' : ''}`;
    return [`${paint('green', '✓')} ${name} is ${words}.`];
  }
  if (holds.length > 0) {
    return [
      `${paint('yellow', '!')} ${name} is not complete, so it was not published:`,
      ...holds.map((hold) => `  - ${printable(hold)}`),
    ];
  }
  const state = passport?.state ?? 'none';
  const reason = passport?.reason?.message;
  return [
    `${paint('red', '✗')} ${name} is ${paint(PASSPORT_COLOURS[state], state)}${reason === undefined ? '.' : `: ${printable(reason)}`}`,
    `  See \`dpp-sync show passport ${name}\`.`,
  ];
}
