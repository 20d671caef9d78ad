// The requests about the daemon itself.

import { z } from 'zod';
import { effectsText } from '../domain/approval.ts';
import { fault } from '../domain/faults.ts';
import type { BackupFile } from '../domain/ports/ledger/care-ledger.ts';
import { counted } from '../lib/text/amounts.ts';
import { ActionRow, Count, listOf, page, Time, worked } from './documents.ts';
import { defineOperation, type Operation } from './operation.ts';
import type { LookContext, OperationContext, Reloaded } from './runtime.ts';

const Nothing = z.strictObject({});

/**
 * Makes the daemon write a backup of its ledger into the folder of the config's `backups`.
 *
 * @throws Fault `usage` without a daemon or without `backups` in its config, `ledger.unwritable` if the backup cannot be made
 */
export const backUp: Operation<Record<string, never>, BackupFile> = {
  name: 'backup',
  kind: 'work',
  tag: 'daemon',
  role: 'operator',
  summary: 'Makes a backup of the ledger and verifies it.',
  request: Nothing,
  result: worked(),
  async run(_request, { runtime }) {
    if (runtime.care !== null) return await runtime.care.backups.backUpNow();
    throw fault('usage', 'No daemon works on this ledger.', {
      suggestion: 'Without a daemon, `dpp-sync ledger backup FILE` makes a backup.',
    });
  },
};

const ReloadAsked = z.strictObject({
  accept: z
    .boolean()
    .default(false)
    .describe('True to use a config that waits because it would change more than `approve` allows.'),
});
type ReloadAsked = z.infer<typeof ReloadAsked>;

/**
 * Makes the daemon read its config and all files that it names again.
 *
 * @throws Fault `usage` in a process that is not a daemon, because it has just read its config
 */
export const reloadConfig: Operation<ReloadAsked, Reloaded> = {
  name: 'reload',
  kind: 'work',
  tag: 'daemon',
  role: 'operator',
  summary: 'Reads the config and all files that it names again.',
  request: ReloadAsked,
  result: worked(),
  async run({ accept }, { runtime }) {
    if (runtime.care !== null) return await runtime.care.reload('person', accept);
    throw fault('usage', 'No daemon works on this ledger, so there is nothing to reload.', {
      suggestion: 'Every command reads the config when it begins. `dpp-sync start` starts a daemon.',
    });
  },
  document: ({ errors, changed, after, effects, publicPassports, held = false }) => ({
    errors,
    changed,
    after,
    effects,
    publicPassports,
    held,
  }),
  exitCode: ({ ok, held }) => (ok ? 0 : held === true ? 4 : 2),
  say({ ok, held, errors, changed, after, effects, publicPassports }) {
    if (held === true) return [...effectLines(effects, publicPassports, 'would make'), ...errors];
    if (!ok) {
      return ['The daemon refuses the config, and keeps the former settings:', ...errors.map((error) => `  ${error}`)];
    }
    return [
      changed.length === 0 ? 'Nothing has changed.' : `Changed: ${changed.join(', ')}.`,
      ...(changed.length === 0 ? [] : effectLines(effects, publicPassports, 'makes')),
      ...(after.length === 0 ? [] : [`Used when the current run has ended: ${after.join(', ')}.`]),
    ];
  },
  help: `
Examples:
  $ dpp-sync reload
  $ dpp-sync reload --accept             uses a config that would change more than \`approve\` allows
  $ dpp-sync reload --json | jq .errors

The daemon reads config, mappings, modules, lookup files and the files of secrets again. It also does so
when one of them changes, and on SIGHUP where it has no terminal. The daemon refuses a config with a problem as a whole and keeps the
former settings: exit code 2.

It first tries the config on a copy of the ledger, and says what changes in the stored rows. If that is more than \`approve\` of a
source allows, the former settings stay in use until \`reload --accept\`: exit code 4.`,
};

function effectLines(effects: Reloaded['effects'], publicPassports: number, makes: string): string[] {
  if (effects === null) return [];
  const texts = Object.entries(effects).flatMap(([source, counts]) => {
    const text = effectsText(counts);
    return text === '' ? [] : [`  ${source}: ${text}`];
  });
  return [
    ...(texts.length === 0 ? ['Nothing that is stored changes.'] : [`From the stored rows it ${makes}:`, ...texts]),
    ...(publicPassports === 0 ? [] : [`${counted(publicPassports, 'public passport')} would differ from the product.`]),
  ];
}

export const listBackups = defineOperation({
  name: 'list-backups',
  kind: 'look',
  tag: 'daemon',
  role: 'operator',
  summary: 'Lists the scheduled backups that are there, the newest first.',
  at: 'GET /backups',
  request: Nothing,
  result: z.array(z.strictObject({ file: z.string(), madeAt: Time, bytes: Count })),
  run: async (_, { runtime: { care } }: OperationContext) => (await care?.backups.list()) ?? [],
});

export const listActions = defineOperation({
  name: 'list-actions',
  kind: 'look',
  tag: 'daemon',
  role: 'operator',
  summary: 'Lists the audit log, the newest entry first.',
  at: 'GET /audit',
  request: z.strictObject(page),
  result: listOf(ActionRow),
  run: (paged, { runtime: { reads } }: LookContext) => reads.actions(paged),
});
