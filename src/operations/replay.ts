import { z } from 'zod';
import { fault } from '../domain/faults.ts';
import { ITEM_KINDS } from '../domain/item.ts';
import { type FormReplayOutcome, REPLAY_STATES, type ReplayState } from '../domain/ports/ledger/replay-ledger.ts';
import { counted, formatCount } from '../lib/text/amounts.ts';
import { exitCodeOf } from '../observe/standing.ts';
import type { ReplayReport } from '../pipeline/replay.ts';
import { worked } from './documents.ts';
import { assertSources, findPastedKey } from './named.ts';
import type { Operation } from './operation.ts';
import { contactDocument, type Sentence, sentencesOf, syncDocument } from './results.ts';
import { selectedSources, syncIn, WaitMs } from './runs.ts';
import type { OperationRuntime, Synced } from './runtime.ts';

const ReplayAsked = z.strictObject({
  /** An empty list stands for the states of `statesToReplay`. */
  states: z.array(z.enum(REPLAY_STATES)).default([]),
  /** Source ids; an empty list stands for all. */
  sources: z.array(z.string()).default([]),
  /** Item keys, natural keys or record keys; an empty list stands for all. */
  keys: z.array(z.string()).default([]),
  /** The id of a cause, which the dashboard shows. Only its members are replayed. */
  cause: z.string().optional(),
  /** True to find out which records would pass, without sending anything. */
  dryRun: z.boolean().default(false),
  /** True to send unconfirmed deliveries again too; only with named keys. */
  force: z.boolean().default(false),
  waitMs: WaitMs,
});
export type ReplayAsked = z.infer<typeof ReplayAsked>;

export interface Replayed {
  replayed: ReplayReport;
  /** Null after a dry run. */
  synced: Synced | null;
}

/**
 * The states that are replayed if none is named. A delivery that a person has ended is sent again only if a person
 * names it.
 */
export function statesToReplay(keys: readonly string[]): readonly ReplayState[] {
  return keys.length > 0 ? REPLAY_STATES : REPLAY_STATES.filter((state) => state !== 'superseded');
}

/**
 * Maps stored records again with the present mapping, and sends the items that have changed or need another try.
 *
 * @throws Fault `usage` for `force` without keys, or for a whole cause
 */
export const replayRecords: Operation<ReplayAsked, Replayed> = {
  name: 'replay',
  kind: 'work',
  tag: 'attention',
  role: 'operator',
  summary: 'Maps stored records again and sends the items that result.',
  request: ReplayAsked,
  result: worked(),
  async run({ states, sources, keys: pasted, cause, dryRun, force, waitMs }, context) {
    const { runtime } = context;
    // With a cause, all its members are selected, even if keys are named.
    if (force && (pasted.length === 0 || cause !== undefined)) {
      throw fault(
        'usage',
        '`force` sends writes again that may have arrived, so it needs `keys` and cannot be used with `cause`.',
        {
          suggestion: 'Look for the item at the platform. If the item is not there, name its key.',
        },
      );
    }
    assertSources(runtime.config, sources);
    const keys = await knownKeys(runtime, pasted);
    const selection = {
      states: states.length > 0 ? states : statesToReplay(keys),
      sources,
      keys,
      deliveryIds: [],
      cause,
    };
    const replayed = await runtime.replay({ selection, force, dryRun });
    if (dryRun) return { replayed, synced: null };
    const of = { sources: selectedSources(context, sources) };
    return { replayed, synced: await syncIn(context, { sources, waitMs, pull: false }, of) };
  },
  document({ replayed: { leftUnconfirmed, ...report }, synced }) {
    const replayed = { dryRun: synced === null, ...report, heldInDoubt: leftUnconfirmed };
    return { ...replayed, ...documentAfter(synced) };
  },
  exitCode: ({ synced }) => (synced === null ? 0 : exitCodeOf(synced)),
};

/** What the document of a replay has of the sync after it. */
function documentAfter(synced: Synced | null): object {
  if (synced === null) return {};
  const { runs: _, ...document } = syncDocument(synced);
  return { ...document, ...contactDocument(synced.attention) };
}

/**
 * The keys in the form of the ledger. Throws for a mistyped key, which must not look like a key that needs no replay.
 *
 * @throws Fault `item.unknown`
 */
async function knownKeys({ reads, ledger }: OperationRuntime, pasted: readonly string[]): Promise<string[]> {
  async function isQuarantined(key: string): Promise<boolean> {
    const selection = { states: ['quarantined'] as const, sources: [], keys: [key], deliveryIds: [] };
    return (await ledger.replayCandidates({ selection, afterId: 0, limit: 1 })).length > 0;
  }
  const keys: string[] = [];
  for (const key of pasted) keys.push(await findPastedKey(key, { reads, isQuarantined }));
  return keys;
}

const FormReplayAsked = z.strictObject({
  /** Source ids; an empty list stands for all. */
  sources: z.array(z.string()).default([]),
  /** Item keys or natural keys; an empty list stands for all. */
  keys: z.array(z.string()).default([]),
  /** An empty list stands for all. Items of a named kind that the API cannot update are blocked, so that a person can settle them. */
  kinds: z.array(z.enum(ITEM_KINDS)).default([]),
  /** True to count what would be sent, without sending anything. */
  dryRun: z.boolean().default(false),
  waitMs: WaitMs,
});
export type FormReplayAsked = z.infer<typeof FormReplayAsked>;

export interface FormReplayed {
  form: FormReplayOutcome;
  /** Null after a dry run. */
  synced: Synced | null;
}

/**
 * Sends items again that were sent in another form than the profile has now.
 *
 * @throws Fault `config.invalid` if a daemon has refused the present config, `item.unknown`
 */
export const replayInPresentForm: Operation<FormReplayAsked, FormReplayed> = {
  name: 'replay-form',
  kind: 'work',
  tag: 'attention',
  role: 'operator',
  summary: 'Sends items again that were sent in another form than the profile has now.',
  request: FormReplayAsked,
  result: worked(),
  async run({ sources, keys: pasted, kinds, dryRun, waitMs }, context) {
    const { runtime } = context;
    assertSources(runtime.config, sources);
    const keys: string[] = [];
    for (const key of pasted) keys.push(await findPastedKey(key, { reads: runtime.reads, isQuarantined: isNever }));
    await runtime.lookAtConfig();
    assertUsesConfig(runtime);
    const form = await runtime.replayForm({ sources, keys, kinds, dryRun });
    if (dryRun) return { form, synced: null };
    const of = { sources: selectedSources(context, sources) };
    return { form, synced: await syncIn(context, { sources, waitMs, pull: false }, of) };
  },
  document: ({ form, synced }) => ({ dryRun: synced === null, form, ...documentAfter(synced) }),
  exitCode: ({ synced }) => (synced === null ? 0 : exitCodeOf(synced)),
};

/** A quarantined row has no item that could be sent. */
const isNever = (): Promise<boolean> => Promise.resolve(false);

/** A daemon keeps the profile with which it was started, so it would send the items in the form that they have. */
function assertUsesConfig({ care }: OperationRuntime): void {
  const last = care?.lastReload() ?? null;
  if (last === null || last.ok) return;
  throw fault(
    'config.invalid',
    `The daemon does not use the present config, so it knows no form of its profile: ${last.errors.join(' ')}`,
    { path: 'target.profile', suggestion: 'Do what this says, then run the command again. Nothing was sent.' },
  );
}

/** What came of a replay. */
export function replaySentences(
  { records, passing, unmapped, staged, quarantined, leftUnconfirmed, passports }: ReplayReport,
  dryRun: boolean,
): Sentence[] {
  const { asked, incomplete } = passports;
  if (records + unmapped + asked + incomplete + leftUnconfirmed === 0)
    return [{ text: 'No record matches: there is nothing to replay.', tone: 'result' }];
  const fails = dryRun ? 'would fail' : quarantined === 1 ? 'fails' : 'fail';
  const failing = quarantined === 0 ? '' : `, and ${formatCount(quarantined)} still ${fails}`;
  const passed = `${formatCount(passing)} ${dryRun ? 'would pass' : 'passed'} the mapping${failing}`;
  const [itPasses, was] = staged === 1 ? ['it passes', 'was'] : ['they pass', 'were'];
  return sentencesOf(
    records > 0 && {
      text: `${counted(records, 'stored row')} ${records === 1 ? 'was' : 'were'} mapped again: ${passed}.`,
      tone: 'result',
    },
    ...unmappedSentences(unmapped),
    staged > 0 &&
      dryRun && {
        text: `${counted(staged, 'write')} would be sent, and the platform decides whether ${itPasses}.`,
        tone: 'note',
      },
    staged > 0 && !dryRun && { text: `${counted(staged, 'write')} ${was} prepared for sending.`, tone: 'note' },
    quarantined > 0 &&
      !dryRun && { text: 'The list of rows with an error has the reasons.', tone: 'note', list: 'quarantine' },
    leftUnconfirmed > 0 && {
      text: `${counted(leftUnconfirmed, 'write')} may have arrived, so ${leftUnconfirmed === 1 ? 'it is' : 'they are'} not sent again. Look at the platform, and settle ${leftUnconfirmed === 1 ? 'it' : 'them'}. \`dpp-sync replay --force --key KEY\` sends one again.`,
      tone: 'warning',
      list: 'unconfirmed',
    },
    asked > 0 && {
      text: `${counted(asked, 'passport')} ${dryRun ? 'would be' : asked === 1 ? 'is' : 'are'} sent again.`,
      tone: 'note',
    },
    incomplete > 0 && {
      text: `${counted(incomplete, 'passport')} cannot be sent, because ${incomplete === 1 ? 'its product is' : 'their products are'} incomplete.`,
      tone: 'warning',
      list: 'incomplete',
    },
    dryRun && { text: 'Nothing was changed.', tone: 'note' },
  );
}

/** The sentence about rows that a replay cannot map; none if there are no such rows. */
export function unmappedSentences(unmapped: number): Sentence[] {
  const its = unmapped === 1 ? 'its' : 'their';
  const text = `${counted(unmapped, 'stored row')} cannot be mapped again, because the config no longer has ${its} source.`;
  return sentencesOf(unmapped > 0 && { text, tone: 'warning' });
}
