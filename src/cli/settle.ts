import { type Command, Option } from 'commander';
import { createCleanText } from '../api/clean-text.ts';
import type { Runtime } from '../daemon/runtime.ts';
import { kindToBind, type PersonsWord, personsVerdict } from '../delivery/persons-word.ts';
import { fault } from '../domain/faults.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../domain/item.ts';
import type { NamedDoubt } from '../domain/ports/doubt.ts';
import type { Settled } from '../domain/ports/verdict.ts';
import { subjectKind } from './arguments.ts';
import type { CommandContext, RunAction } from './context.ts';
import { givenId, inOwnType, remoteIdOf } from './remote-id.ts';
import { settleAmbiguous, settleParts } from './settle-contact.ts';
import { plural, printable } from './style.ts';
import { unknownItem } from './unknown-item.ts';
import { kindWord, stateWord } from './words.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync items --state in_doubt                            what is in doubt?
  $ dpp-sync settle 00012001/0010 --delivered                  it is at the platform
  $ dpp-sync settle TWZ-180-LS --delivered --id 4711           and this is its id there
  $ dpp-sync settle --bom present --all                        BOM items of products that were there before
  $ dpp-sync settle TWZ-180-LS --kind passport --rejected      it is not; nothing is sent for now

Look at the platform first: what you say is taken for a fact. What arrived is not sent again, and what waited for it can go
out. What did not arrive stays as it is until its row changes or you run dpp-sync replay --key KEY.`;

interface SettleOptions {
  delivered?: boolean;
  rejected?: boolean;
  id?: string;
  bom?: 'present' | 'absent';
  all?: boolean;
  kind?: SubjectKind;
}

export function addSettleCommand(program: Command, run: RunAction): void {
  program
    .command('settle')
    .description('say whether a delivery in doubt has arrived, or what was at the platform before')
    .argument('[key...]', 'its key, or its SKU or code; of a passport that of its product; with --bom, products')
    .option('--delivered', 'it is at the platform')
    .option('--rejected', 'it is not at the platform')
    .addOption(
      new Option(
        '--bom <answer>',
        'whether the BOM items of products that were there before are there as well',
      ).choices(['present', 'absent']),
    )
    .option('--all', 'with --bom: of all products that wait for an answer')
    .option('--id <id>', 'the id that it has there, with --delivered; else it is looked up where it is needed')
    .addOption(
      new Option('--kind <kind>', `${SUBJECT_KINDS.join(', ')}; where several are in doubt`).argParser(subjectKind),
    )
    .addHelpText('after', EXAMPLES)
    .action((keys: string[], options: SettleOptions) =>
      run((context) =>
        options.bom === undefined ? settle(only(keys), options, context) : bom(keys, options, context),
      ),
    );
}

/** @throws Fault `usage` */
function only(keys: readonly string[]): string {
  const [key] = keys;
  if (key !== undefined && keys.length === 1) return key;
  throw fault('usage', 'Name one item by its key, or its SKU or code.');
}

async function bom(keys: readonly string[], options: SettleOptions, context: CommandContext): Promise<number> {
  const { all = false, delivered, rejected, id } = options;
  if (all === keys.length > 0)
    throw fault('usage', 'Say with --bom which products are meant: by their SKUs, or --all.');
  if (delivered || rejected || id !== undefined) throw fault('usage', '--bom goes with products or --all alone.');
  const config = await context.loadConfig();
  const runtime = await context.openRuntime(config, 'settle');
  try {
    await settleParts(all ? null : keys, options.bom === 'present', runtime, context.output);
    return 0;
  } finally {
    await runtime.close();
  }
}

async function settle(name: string, options: SettleOptions, context: CommandContext): Promise<number> {
  const { delivered = false, rejected = false, kind = null } = options;
  if (delivered === rejected) {
    throw fault('usage', 'Say what you found at the platform: either --delivered or --rejected.');
  }
  if (options.all) throw fault('usage', '--all goes with --bom alone.');
  if (options.id !== undefined && !delivered) throw fault('usage', '--id goes with --delivered alone.');
  const { output } = context;
  const config = await context.loadConfig();
  const id = options.id === undefined ? null : givenId(options.id, createCleanText(context.secrets));
  const abort = context.interruption();
  const runtime = await context.openRuntime(config, 'settle');
  try {
    const kinds = (['product', 'material'] as const).filter((one) => kind === null || one === kind);
    if (id !== null && (await settleAmbiguous(name, { kinds, id }, runtime, output))) return 0;
    const doubt = chosen(await runtime.ledger.doubtsOf(name), { name, kind }, runtime);
    const word = delivered ? await arrived(doubt, id, runtime, abort) : ({ arrived: false } as const);
    const verdict = personsVerdict(doubt, word);
    // The lock is ours, so nobody else has settled it since.
    const settled = await runtime.ledger.settle({ deliveryId: doubt.id, verdict });
    tell(doubt, settled, { runtime, output });
    return 0;
  } finally {
    await runtime.close();
  }
}

async function arrived(
  doubt: NamedDoubt,
  given: string | null,
  runtime: Runtime,
  abort: AbortSignal,
): Promise<PersonsWord> {
  const kind = kindToBind(doubt.operation);
  if (kind !== null) return { arrived: true, remoteId: await remoteIdOf(doubt, { kind, given }, runtime, abort) };
  if (given !== null && doubt.operation !== 'bom_item.create') {
    throw fault('usage', `${doubt.operation} of "${doubt.key}" gives nothing a new id: leave --id out.`);
  }
  return { arrived: true, remoteId: given === null ? null : inOwnType(given, doubt.kind, runtime.views) };
}

/**
 * The one doubt that is meant.
 *
 * @throws Fault `item.unknown` or `usage`
 */
function chosen(
  doubts: readonly NamedDoubt[],
  { name, kind }: { name: string; kind: SubjectKind | null },
  { views }: Pick<Runtime, 'views'>,
): NamedDoubt {
  const meant = doubts.filter((doubt) => kind === null || doubt.kind === kind);
  const [only] = meant;
  if (only === undefined) throw nothingInDoubt(name, kind, views);
  if (meant.length === 1) return only;
  const names = meant.map((doubt) => `${kindWord(doubt.kind)} ${doubt.key} (${doubt.operation})`);
  const kinds = new Set(meant.map((doubt) => doubt.kind));
  throw fault('usage', `Several deliveries under "${name}" are in doubt: ${names.join(', ')}.`, {
    suggestion:
      kinds.size > 1
        ? `Say which one with --kind ${[...kinds].join(' or --kind ')}.`
        : 'Name one by its key in place of its SKU or code.',
  });
}

function nothingInDoubt(name: string, kind: SubjectKind | null, views: Runtime['views']): Error {
  const kinds = kind === null ? SUBJECT_KINDS : [kind];
  const known = kinds.flatMap((one) => views.item(one, name) ?? []);
  const [item] = known;
  if (item === undefined) return unknownItem(kind ?? 'product', name, views);
  const states = known.map((one) => `the ${kindWord(one.kind)} is ${stateWord(one.state)}`);
  return fault('usage', `Nothing of "${name}" is in doubt: ${states.join(', ')}.`, {
    suggestion: `\`dpp-sync show ${item.kind} ${item.key}\` tells its story; \`dpp-sync items --state in_doubt\` lists what is in doubt.`,
  });
}

function tell(
  { kind, key, operation }: NamedDoubt,
  { released }: Settled,
  { runtime, output }: { runtime: Runtime; output: CommandContext['output'] },
): void {
  const item = runtime.views.item(kind, key);
  const state = item?.state ?? 'delivered';
  const remoteId = item?.remoteId ?? null;
  if (output.json) output.document({ ok: true, kind, key, operation, state, remoteId, released });
  output.print(`Noted. The ${kindWord(kind)} ${printable(key)} is ${stateWord(state)} now.`);
  if (released > 0) {
    output.print(`${plural(released, 'delivery that waited is', 'deliveries that waited are')} due: dpp-sync sync`);
  }
}
