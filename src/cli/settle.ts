import { type Command, Option } from 'commander';
import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import { type Resolution, SETTLE_STATES, type SettleState } from '../domain/delivery/delivery.ts';
import { fault } from '../domain/faults.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../domain/item.ts';
import { kindWord, stateWord } from '../domain/words/states.ts';
import { counted } from '../lib/text/amounts.ts';
import { assertSources } from '../operations/named.ts';
import { releasedSentences } from '../operations/results.ts';
import { type SettleRequest, type SettleResult, settle } from '../operations/settle.ts';
import {
  partsSentences,
  type SettlePartsRequest,
  type SettleSelectedRequest,
  selectedSentences,
  settleParts,
  settleSelected,
} from '../operations/settle-selected.ts';
import { answered } from './answers.ts';
import { subjectKind } from './arguments.ts';
import { confirmed } from './confirm.ts';
import type { CommandContext, RunAction } from './context.ts';
import { ASKS_NOTHING } from './errors.ts';
import { printable, sentenceLines } from './text/style.ts';
import { countKind } from './text/words.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync items --state in_doubt                            which writes are unconfirmed?
  $ dpp-sync settle 00012001/0010 --delivered                  it is at the platform
  $ dpp-sync settle TWZ-180-LS --delivered --id 4711           and the platform has it under this id
  $ dpp-sync settle --bom present --all                        BOM items of products that were there before
  $ dpp-sync settle TWZ-180-LS --kind passport --rejected      the platform does not have it; nothing is sent for now
  $ dpp-sync settle --state blocked --kind bom_item --ignore   leave all of them at the platform as they are

Look at the platform first: your answer counts as a fact.`;

interface SettleOptions {
  delivered?: boolean;
  rejected?: boolean;
  ignore?: boolean;
  id?: string;
  bom?: 'present' | 'absent';
  all?: boolean;
  kind?: SubjectKind;
  state?: SettleState | 'missing';
  source?: string;
  yes?: boolean;
}

export function addSettleCommand(program: Command, run: RunAction): void {
  program
    .command('settle')
    .argument('[key...]', 'keys, SKUs or codes; for a passport the key of its product; with --bom products')
    .option(
      '--delivered',
      'the platform has the item or the change, or a person has made the change there. The desired content counts as acknowledged, and what waited for the item becomes due',
    )
    .option(
      '--rejected',
      'the platform does not have it: the write ends as `rejected`. A change of the row or `replay` sends a new write',
    )
    .option(
      '--ignore',
      'the platform stays as it is: the write ends as `superseded` until its row changes. Until then it needs no person and blocks no passport. An item that is missing from its source is no longer shown as missing',
    )
    .addOption(
      new Option(
        '--bom <answer>',
        'whether the BOM items of the named products are at the platform, for products that were there before; the only other option that may be given is --all',
      ).choices(['present', 'absent']),
    )
    .option('--all', 'with --bom: answer for all products that wait for an answer')
    .option(
      '--id <id>',
      'with --delivered and one key: the id of the item at the platform. If an id is needed and not given, dpp-sync looks it up',
    )
    .addOption(
      new Option('--kind <kind>', 'the kind of the items; needed if items of several kinds have the key')
        .choices(SUBJECT_KINDS)
        .argParser(subjectKind),
    )
    .addOption(
      new Option(
        '--state <state>',
        'all items in this state, in place of keys; says how many there are, and asks before it settles anything',
      ).choices([...SETTLE_STATES, 'missing']),
    )
    .option('--source <id>', 'with --state: only items of this source')
    .option('--yes', 'with --state: do not ask')
    .addHelpText('after', EXAMPLES)
    .action((keys: string[], options: SettleOptions) =>
      run((context) => {
        const names = [...new Set(keys)];
        return options.bom === undefined ? settleItems(names, options, context) : bom(names, options, context);
      }),
    );
}

async function bom(keys: string[], options: SettleOptions, context: CommandContext): Promise<number> {
  const { bom: answer, all = false, ...others } = options;
  if (all === keys.length > 0) throw fault('usage', 'With --bom, name the products by their SKUs, or use --all.');
  if (Object.values(others).some((value) => value !== undefined))
    throw fault('usage', '--bom needs products or --all, and no other option.');
  return settleBom({ products: all ? null : keys, present: answer === 'present' }, context);
}

async function settleItems(keys: string[], options: SettleOptions, context: CommandContext): Promise<number> {
  const resolution = resolutionOf(options);
  const { state, source } = options;
  if ((keys.length === 0) === (state === undefined)) {
    throw fault('usage', 'Name the items, either by keys or with --state.');
  }
  if (options.id !== undefined && (resolution !== 'delivered' || keys.length !== 1)) {
    throw fault('usage', 'Use --id only with --delivered and exactly one key.');
  }
  if (state === undefined && source !== undefined) throw fault('usage', '--source needs --state.');
  if (state === undefined && options.yes === true) {
    throw fault('usage', '--yes needs --state.', { suggestion: ASKS_NOTHING });
  }
  if (state === 'missing' && resolution !== 'ignored') {
    throw fault('usage', '--state missing needs --ignore, which accepts that the items are missing.');
  }
  if (options.all) throw fault('usage', '--all needs --bom.');
  const config = await context.loadConfig();
  if (source !== undefined) assertSources(config, [source]);
  const { id = null, kind = null, yes = false } = options;
  if (state === undefined) return settleNamed({ names: keys, resolution, id, kind }, { context, config });
  return settleAll({ state, kind, source: source ?? null, resolution }, { yes, context, config });
}

function resolutionOf({ delivered = false, rejected = false, ignore = false }: SettleOptions): Resolution {
  const said = [
    ...(delivered ? (['delivered'] as const) : []),
    ...(rejected ? (['rejected'] as const) : []),
    ...(ignore ? (['ignored'] as const) : []),
  ];
  const [only] = said;
  if (only !== undefined && said.length === 1) return only;
  throw fault('usage', 'Say what you found at the platform: either --delivered, --rejected or --ignore.');
}

/** Settles the items that the keys name. */
async function settleNamed(
  request: SettleRequest,
  { context, config }: { context: CommandContext; config: RuntimeConfig },
): Promise<number> {
  const { output } = context;
  return context.withAdmin(config, 'settle', async (admin) => {
    const result = await admin.run(settle, request);
    return answered(output, { operation: settle, result }, namedLines(result, admin));
  });
}

function namedLines(result: SettleResult, where: { daemon: boolean }): string[] {
  const noted = (kind: Parameters<typeof kindWord>[0], key: string, is: string) =>
    `Noted. The ${kindWord(kind)} ${printable(key)} ${is}`;
  if ('bound' in result) {
    const { kind, key, state } = result.bound;
    return [noted(kind, key, `is ${stateWord(state)} now.`)];
  }
  return [
    ...result.settled.map(({ kind, key, operation, state }) =>
      noted(kind, key, operation === null ? missingNoted(kind) : `is ${stateWord(state)} now.`),
    ),
    ...sentenceLines(releasedSentences(result.released, where.daemon)),
  ];
}

function missingNoted(kind: SubjectKind): string {
  const noted = 'may be missing from its source.';
  return kind === 'product' ? `${noted} Its missing BOM items need no decision.` : noted;
}

type Selection = Omit<SettleSelectedRequest, 'dryRun'>;

/** Settles all items in a state, after a person has confirmed their number. */
async function settleAll(
  selection: Selection,
  { yes, context, config }: { yes: boolean; context: CommandContext; config: RuntimeConfig },
): Promise<number> {
  const { output } = context;
  const abort = context.interruption();
  return context.withAdmin(config, 'settle', async (admin) => {
    if (!yes) {
      const { selected } = await admin.run(settleSelected, { ...selection, dryRun: true });
      if (selected > 0) await ask(selected, selection, abort);
    }
    const asked = { ...selection, dryRun: false };
    const result = await admin.run(settleSelected, asked);
    const lines = sentenceLines(selectedSentences(result, admin.daemon));
    return answered(output, { operation: settleSelected, result }, lines);
  });
}

async function ask(count: number, { state, kind, resolution }: Selection, abort: AbortSignal): Promise<void> {
  const what = kind === null ? counted(count, 'item') : countKind(count, kind);
  const [are, them] = count === 1 ? ['is', 'it'] : ['are', 'them'];
  await confirmed(`${what} ${are} ${stateWord(state)}. Settle ${them} as ${resolution}?`, {
    signal: abort,
    unattended: `Nothing was settled: this command has no terminal at which a person can confirm ${what}.`,
    declined: 'Nothing was settled.',
  });
}

/** Stores a person's answer whether BOM items of adopted products are at the platform. */
async function settleBom(request: SettlePartsRequest, context: CommandContext): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig();
  return context.withAdmin(config, 'settle', async (admin) => {
    const answer = await admin.run(settleParts, request);
    const creates = admin.daemon ? 'The daemon creates them.' : 'The next sync creates them.';
    return answered(output, { operation: settleParts, result: answer }, [
      ...sentenceLines(partsSentences(answer)),
      request.present ? 'They count as delivered.' : creates,
    ]);
  });
}
