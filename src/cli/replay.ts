import { type Command, Option } from 'commander';
import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import { fault } from '../domain/faults.ts';
import { ITEM_KINDS, type ItemKind } from '../domain/item.ts';
import {
  type FormReplayOutcome,
  type KindCounts,
  REPLAY_STATES,
  type ReplayState,
} from '../domain/ports/ledger/replay-ledger.ts';
import { assertSources } from '../operations/named.ts';
import {
  type FormReplayAsked,
  replayInPresentForm,
  replayRecords,
  replaySentences,
  statesToReplay,
} from '../operations/replay.ts';
import { answered } from './answers.ts';
import { collect } from './arguments.ts';
import type { CommandContext, RunAction } from './context.ts';
import { showReport, WAIT } from './source/sync.ts';
import { runShown } from './text/progress.ts';
import { sentenceLines } from './text/style.ts';
import { countKind } from './text/words.ts';

interface ReplayOptions {
  state?: ReplayState[];
  source?: string[];
  key?: string[];
  form?: boolean;
  kind?: ItemKind[];
  dryRun?: boolean;
  force?: boolean;
  wait: number;
}

const EXAMPLES = `
Examples:
  $ dpp-sync replay --state quarantined --dry-run      how many would pass with the mapping as it is now?
  $ dpp-sync replay --state rejected --state blocked
  $ dpp-sync replay --key TWZ-180-LS                   an item by key, SKU or code
  $ dpp-sync replay --form --dry-run                   what was sent before the profile was corrected?
  $ dpp-sync replay --key 00012001/0010 --force        send again although it may have arrived: look first!

The stored records are mapped again with the present mapping, so an old mistake is never sent again. Nothing is
pulled. Without options the command replays all that is blocked, rejected, parked, unconfirmed (in_doubt) or quarantined.`;

export function addReplayCommand(program: Command, run: RunAction): void {
  const parseState = (value: string, before?: ReplayState[]): ReplayState[] => {
    const state = REPLAY_STATES.find((one) => one === value.replaceAll('-', '_'));
    if (state === undefined)
      throw fault('usage', `There is no state "${value}" to replay.`, {
        suggestion: `Choose from ${REPLAY_STATES.join(', ')}.`,
      });
    return collect(state, before);
  };
  const parseKind = (value: string, before?: ItemKind[]): ItemKind[] => {
    const kind = ITEM_KINDS.find((one) => one === value.replaceAll('-', '_'));
    if (kind === undefined)
      throw fault('usage', `There is no kind "${value}".`, { suggestion: `Choose from ${ITEM_KINDS.join(', ')}.` });
    return collect(kind, before);
  };
  const parseText = (value: string, before?: string[]): string[] => collect(value, before);
  program
    .command('replay')
    .addOption(
      new Option(
        '--state <state>',
        'only what is in this state; may be repeated. What `settle --ignore` has ended (superseded) is replayed only if --state or --key names it',
      )
        .choices(REPLAY_STATES)
        .argParser(parseState),
    )
    .addOption(new Option('--source <id>', 'only records of this source; may be repeated').argParser(parseText))
    .addOption(
      new Option(
        '--key <key>',
        'only the items with this key or natural key, or the records with this key; may be repeated',
      ).argParser(parseText),
    )
    .option(
      '--form',
      'send items again, with all fields, that were sent in another form than the profile has now, instead of stuck items',
    )
    .addOption(
      new Option('--kind <kind>', 'with --form: only items of this kind; may be repeated')
        .choices(ITEM_KINDS)
        .argParser(parseKind),
    )
    .option('--dry-run', 'only say how many records and deliveries would pass now, or how many items --form would send')
    .option(
      '--force',
      'send a write again that has no answer (in_doubt). With this option you confirm that it has not arrived. Needs --key',
    )
    .option(...WAIT)
    .addHelpText('after', EXAMPLES)
    .action((options: ReplayOptions) => run((context) => replay(options, context)));
}

async function replay(options: ReplayOptions, context: CommandContext): Promise<number> {
  const {
    source: sources = [],
    key: keys = [],
    form = false,
    kind: kinds = [],
    dryRun = false,
    force = false,
    wait,
  } = options;
  const { state = statesToReplay(keys) } = options;
  const { output } = context;
  if (force && keys.length === 0) {
    throw fault('usage', '--force sends a write again that may have arrived, so it needs --key.', {
      suggestion: 'Look for the item at the platform. If the item is not there, name its key with --key.',
    });
  }
  if (form && (force || options.state !== undefined)) {
    throw fault('usage', '--form selects delivered items, so it cannot be used with --state or --force.', {
      suggestion: 'Use only --source, --key, --kind and --dry-run with it.',
    });
  }
  if (!form && kinds.length > 0) throw fault('usage', '--kind needs --form.');
  const config = await context.loadConfig();
  assertSources(config, sources);
  if (form) return replayForm({ sources, keys, kinds, dryRun, waitMs: wait * 1000 }, { context, config });
  const request = { states: [...state], sources, keys, dryRun, force, waitMs: wait * 1000 };
  const { replayed, synced } = dryRun
    ? await context.withAdmin(config, 'replay', (admin) => admin.run(replayRecords, request))
    : await runShown(context, config, { command: 'replay', operation: replayRecords }, request);
  const lines = sentenceLines(replaySentences(replayed, synced === null));
  const exitCode = answered(
    output,
    { operation: replayRecords, result: { replayed, synced } },
    synced === null ? lines : output.quiet ? [] : [...lines, ''],
  );
  if (synced !== null) showReport(context, config, synced);
  return exitCode;
}

/** Sends items again that were sent in another form than the profile has now, or counts them. */
async function replayForm(
  request: FormReplayAsked,
  { context, config }: { context: CommandContext; config: RuntimeConfig },
): Promise<number> {
  const { output } = context;
  const { dryRun } = request;
  const { form, synced } = dryRun
    ? await context.withAdmin(config, 'replay', (admin) => admin.run(replayInPresentForm, request))
    : await runShown(context, config, { command: 'replay', operation: replayInPresentForm }, request);
  const lines = formLines(form, dryRun);
  const exitCode = answered(
    output,
    { operation: replayInPresentForm, result: { form, synced } },
    synced === null ? lines : output.quiet ? [] : [...lines, ''],
  );
  if (synced !== null) showReport(context, config, synced);
  return exitCode;
}

function formLines({ staged, unsupported, open }: FormReplayOutcome, dryRun: boolean): string[] {
  const lines: string[] = [];
  const [again, impossible, underWay] = [staged, unsupported, open].map(listed);
  if (again !== null) {
    lines.push(
      `${again} ${dryRun ? 'would be' : 'are'} sent again, with all fields in the form that the profile has now.`,
    );
  }
  if (underWay !== null) {
    lines.push(`${underWay}: not sent again now, because a write is due or needs a person. That write has all fields.`);
  }
  if (impossible !== null) {
    lines.push(
      `${impossible} cannot be updated through the API. Look at the platform whether it has them as it should.`,
      '  To settle one: dpp-sync replay --form --key KEY, which blocks it, then dpp-sync settle KEY with --delivered or --ignore',
      '  To settle all of a kind: dpp-sync replay --form --kind KIND, then dpp-sync settle --state blocked --kind KIND',
    );
  }
  return lines.length > 0 ? lines : ['No item matches: the platform has them in the form that the profile has now.'];
}

/** The counts in a list, such as `3 products, 1 BOM item`; null if there are none. */
function listed(counts: KindCounts): string | null {
  const parts = ITEM_KINDS.flatMap((kind) => ((counts[kind] ?? 0) > 0 ? [countKind(counts[kind] ?? 0, kind)] : []));
  return parts.length === 0 ? null : parts.join(', ');
}
