import type { Command } from 'commander';
import { hasTrait } from '../../domain/delivery/stored-reason.ts';
import { fault } from '../../domain/faults.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import { shellWord } from '../../lib/text/safe-text.ts';
import type { Operation } from '../../operations/operation.ts';
import {
  isDone,
  type PassportOutcome,
  type PassportsAsked,
  type PassportsChanged,
  type PublishedComplete,
  publishComplete,
  publishPassports,
  type Unpublished,
  unpublishPassports,
} from '../../operations/publish.ts';
import type { Synced } from '../../operations/runtime.ts';
import { answered } from '../answers.ts';
import { confirmed } from '../confirm.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { ASKS_NOTHING, failureLines } from '../errors.ts';
import { WAIT } from '../source/sync.ts';
import { runShown, shown } from '../text/progress.ts';
import { type Paint, printable } from '../text/style.ts';
import { PASSPORT_COLOURS } from '../text/words.ts';

const PUBLISH_EXAMPLES = `
Examples:
  $ dpp-sync publish TWZ-180-LS
  $ dpp-sync publish TWZ-180-LS TWZ-220-XL --json
  $ dpp-sync publish --all               all that are complete; shows how many, and asks
  $ dpp-sync publish --all --yes         the same without asking, for scripts

A passport is published only when its product is complete: the product and its BOM items are at the platform as their
source has them, and no row of theirs is in quarantine. Otherwise the command names what is missing and sends nothing (exit code 4).
A passport that was never initialised is initialised first.

--all publishes the passports of all products that are complete and not published. It leaves out passports that a person has withdrawn.
Products that are not complete are listed, and the exit code is 4.`;

const UNPUBLISH_EXAMPLES = `
Examples:
  $ dpp-sync unpublish TWZ-180-LS

The passport stays unpublished until you run \`dpp-sync publish\` for it: the policy of the config does not publish it again.`;

type Asked = 'published' | 'unpublished';

interface Options {
  all?: boolean;
  yes?: boolean;
  wait: number;
}

export function addPublishCommand(program: Command, run: RunAction): void {
  program
    .command('publish')
    .argument('[sku...]', 'products, by SKU or by the key that the mapping gives')
    .option('--all', 'all products that are complete and not published; shows how many, and asks')
    .option('--yes', 'with --all: do not ask; needed if the command does not run in a terminal')
    .option(...WAIT)
    .addHelpText('after', PUBLISH_EXAMPLES)
    .action((skus: string[], options: Options) =>
      run((context) => (options.all === true ? publishAll(skus, options, context) : publish(skus, options, context))),
    );
}

export function addUnpublishCommand(program: Command, run: RunAction): void {
  program
    .command('unpublish')
    .argument('<sku...>', 'products, by SKU or by the key that the mapping gives')
    .option(...WAIT)
    .addHelpText('after', UNPUBLISH_EXAMPLES)
    .action((skus: string[], { wait }: Options) =>
      run((context) => change(skus, { command: 'unpublish', operation: unpublishPassports, wait }, context)),
    );
}

async function publish(skus: string[], { yes, wait }: Options, context: CommandContext): Promise<number> {
  if (skus.length === 0) throw fault('usage', 'Name the products by their SKUs, or use --all.');
  if (yes === true) throw fault('usage', '--yes needs --all.', { suggestion: ASKS_NOTHING });
  return change(skus, { command: 'publish', operation: publishPassports, wait }, context);
}

async function change(
  skus: string[],
  asked: { command: 'publish' | 'unpublish'; operation: Operation<PassportsAsked, PassportsChanged>; wait: number },
  context: CommandContext,
): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig();
  const status = asked.command === 'publish' ? 'published' : 'unpublished';
  const request = { products: skus, waitMs: asked.wait * 1000 };
  const result = await runShown(context, config, asked, request);
  const { outcomes, synced } = result;
  const lines = outcomes.flatMap((outcome) => outcomeLines(outcome, { status, failure: synced.fault }, context));
  const exitCode = answered(output, { operation: asked.operation, result }, lines);
  if (synced.fault !== null) for (const line of failureLines(synced.fault)) output.error(line);
  return exitCode;
}

async function publishAll(skus: string[], { yes = false, wait }: Options, context: CommandContext): Promise<number> {
  if (skus.length > 0) throw fault('usage', '--all allows no SKUs.', { suggestion: 'Use either --all or SKUs.' });
  const { output } = context;
  const config = await context.loadConfig();
  return context.withAdmin(config, 'publish', async (admin) => {
    const request = { dryRun: false, waitMs: wait * 1000 };
    if (!yes) await confirmAll(await admin.run(publishComplete, { ...request, dryRun: true }), context);
    const result = await shown(context, admin, publishComplete, request);
    const { done } = result;
    const lines = allLines(result, context);
    const exitCode = answered(output, { operation: publishComplete, result }, lines);
    const failure = done?.synced.fault ?? null;
    if (failure !== null && done !== null && done.leftCount > 0) {
      for (const line of failureLines(failure)) output.error(line);
    }
    return exitCode;
  });
}

/** @throws Fault `usage` or `interrupted` */
async function confirmAll({ found }: PublishedComplete, context: CommandContext): Promise<void> {
  if (found.complete === 0) return;
  const passports = counted(found.complete, 'passport');
  await confirmed(`Publish ${passports}?`, {
    signal: context.interruption(),
    unattended: `${passports} would be published, but this command has no terminal at which a person can confirm it.`,
    declined: 'Nothing was published.',
  });
}

function allLines({ found, done }: PublishedComplete, context: CommandContext): string[] {
  const { paint } = context.output;
  const lines = [
    done === null
      ? 'There is nothing to publish: no complete product has an unpublished passport.'
      : doneLine(done, paint),
  ];
  const left = done?.left ?? [];
  const asked = { status: 'published', failure: done?.synced.fault ?? null } as const;
  lines.push(...left.slice(0, SHOWN_MAX).flatMap((outcome) => outcomeLines(outcome, asked, context)));
  if (left.length > SHOWN_MAX) {
    lines.push(
      `  … and ${counted((done?.leftCount ?? 0) - SHOWN_MAX, 'more passport')}: dpp-sync items --kind passport`,
    );
  }
  if (found.incomplete > 0) {
    const [first = '', ...more] = incompleteLines(found);
    lines.push(`${paint('yellow', '!')} ${first}`, ...more);
  }
  if (found.withdrawn > 0) {
    lines.push(
      `${counted(found.withdrawn, 'passport', 'passports')} withdrawn by hand: left as ${found.withdrawn === 1 ? 'it is' : 'they are'}. To publish one again, name its product.`,
    );
  }
  return lines;
}

function doneLine(
  { published, leftCount }: Pick<NonNullable<PublishedComplete['done']>, 'published' | 'leftCount'>,
  paint: Paint,
): string {
  if (published > 0 || leftCount === 0) {
    return `${paint('green', '✓')} ${counted(published, 'passport is', 'passports are')} published.`;
  }
  const words = leftCount === 1 ? 'The passport was not' : `None of the ${formatCount(leftCount)} passports was`;
  return `${paint('red', '✗')} ${words} published:`;
}

const SHOWN_MAX = 10;

/** @param asked the request, and the failure that is shown below all lines */
function outcomeLines(
  outcome: PassportOutcome,
  { status, failure }: { status: Asked; failure: Synced['fault'] },
  { output }: CommandContext,
): string[] {
  const { asked, result, blockers, passport } = outcome;
  const { paint } = output;
  const name = printable(asked);
  if (isDone(outcome, status)) {
    const before = result === 'settled' ? ' already' : '';
    const words = status === 'published' ? `published${before}` : `not public${before === '' ? ' any more' : ''}`;
    return [`${paint('green', '✓')} ${name} is ${words}.`];
  }
  if (blockers.length > 0) {
    return [
      `${paint('yellow', '!')} ${name} is not complete, so its passport was not published:`,
      ...blockers.map((blocker) => `  - ${printable(blocker)}`),
      nextStepLine(asked),
    ];
  }
  const state = passport?.state ?? 'none';
  const reason = passport?.reason ?? null;
  const failed = `was not ${status === 'published' ? 'published' : 'withdrawn'}`;
  // One failure stops all passports, so it is shown once, below the lines.
  if (failure !== null && (reason === null || hasTrait(reason, 'access_denied'))) {
    return [`${paint('red', '✗')} ${name} ${failed}, because of the error below. The passport stays due.`];
  }
  const words = state === 'blocked' ? `is ${paint(PASSPORT_COLOURS[state], state)}` : failed;
  return [
    `${paint('red', '✗')} ${name} ${words}${reason === null ? '.' : `: ${printable(reason.message)}`}`,
    `  See \`dpp-sync show passport ${name}\`.`,
  ];
}

/** How many causes are shown. */
const CAUSES_MAX = 10;
/** How many products are named for a cause that several have. */
const NAMED_MAX = 5;

/** The command that shows everything that a product lacks. */
function nextStepLine(product: string): string {
  return `  All reasons, and the next step: dpp-sync why ${printable(shellWord(product))}`;
}

/**
 * The products that are not complete, by what is missing first. A cause that many products have, such as a source that the guard
 * holds, is one line.
 */
export function incompleteLines({
  incomplete,
  firstIncomplete,
}: Pick<Unpublished, 'incomplete' | 'firstIncomplete'>): string[] {
  const causes = [...Map.groupBy(firstIncomplete, ({ blockers }) => blockers[0] ?? '')].slice(0, CAUSES_MAX);
  const lines = causes.map(([cause, products]) => {
    const names = products.map(({ key, naturalKey }) => printable(naturalKey ?? key));
    const named = names.slice(0, NAMED_MAX).join(', ');
    const who =
      names.length === 1
        ? named
        : `${counted(names.length, 'product')} (${named}${names.length > NAMED_MAX ? ', …' : ''})`;
    return `  - ${who}: ${printable(cause)}`;
  });
  const more = incomplete - causes.reduce((sum, [, products]) => sum + products.length, 0);
  const [first] = firstIncomplete;
  return [
    incomplete === 1
      ? '1 product is not complete, so its passport was not published:'
      : `${formatCount(incomplete)} products are not complete, so their passports were not published:`,
    ...lines,
    ...(more > 0 ? [`  … and ${counted(more, 'more product')}; --json lists up to 1,000.`] : []),
    ...(first === undefined ? [] : [nextStepLine(first.naturalKey ?? first.key)]),
  ];
}
