// The requests about the daemon itself.

import { z } from 'zod';
import { fault } from '../domain/faults.ts';
import type { BackupFile } from '../domain/ports/ledger/care-ledger.ts';
import { PASSPORT_STATES } from '../domain/ports/ledger/ledger-views.ts';
import { QUEUE_NAMES } from '../domain/ports/queues.ts';
import { ActionRow, Count, listOf, PassportCounts, page, Time, worked } from './documents.ts';
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

/**
 * Makes the daemon read its config and all files that it names again.
 *
 * @throws Fault `usage` in a process that is not a daemon, because it has just read its config
 */
export const reloadConfig: Operation<Record<string, never>, Reloaded> = {
  name: 'reload',
  kind: 'work',
  tag: 'daemon',
  role: 'operator',
  summary: 'Reads the config and all files that it names again.',
  request: Nothing,
  result: worked(),
  async run(_request, { runtime }) {
    if (runtime.care !== null) return await runtime.care.reload('person');
    throw fault('usage', 'No daemon works on this ledger, so there is nothing to reload.', {
      suggestion: 'Every command reads the config when it begins. `dpp-sync start` starts a daemon.',
    });
  },
  document: ({ errors, changed, after }) => ({ errors, changed, after }),
  exitCode: ({ ok }) => (ok ? 0 : 2),
  say({ ok, errors, changed, after }) {
    if (!ok) {
      return ['The daemon refuses the config, and keeps the former settings:', ...errors.map((error) => `  ${error}`)];
    }
    return [
      changed.length === 0 ? 'Nothing has changed.' : `Changed: ${changed.join(', ')}.`,
      ...(after.length === 0 ? [] : [`Used when the current run has ended: ${after.join(', ')}.`]),
    ];
  },
  help: `
Examples:
  $ dpp-sync reload
  $ dpp-sync reload --json | jq .errors

The daemon reads config, mappings, modules, lookup files and the files of secrets again. It also does so
when one of them changes, and on SIGHUP where it has no terminal. The daemon refuses a config with a problem as a whole and keeps the
former settings: exit code 2.`,
};

const States = z.record(z.string(), Count);

const Status = z.strictObject({
  version: z.string(),
  startedAt: Time,
  status: z.string().describe('`ok`, `degraded`, `unhealthy` or `stopping`.'),
  ledger: z.string(),
  queue: z.string(),
  api: z.string(),
  running: z.array(z.string()).describe('The sources that are being read.'),
  items: z.strictObject({ product: States, material: States, bom_item: States }),
  passports: PassportCounts,
  quarantined: Count,
  guarded: z
    .array(
      z.strictObject({
        source: z.string(),
        stream: z.string(),
        runId: z.number().int(),
        since: Time,
        read: Count,
        missing: Count,
        released: Count,
        creates: Count,
        gone: z.array(z.string()).describe('The names of the first records or items that are gone, at most 100.'),
        message: z.string(),
        isLeft: z.boolean().describe('True if the config no longer has the stream.'),
        isOlder: z
          .boolean()
          .describe('True if the export is older than the last one, so that none of its rows was stored.'),
      }),
    )
    .describe('Exports that the guard holds until a person accepts them: `sync` with `accept`.'),
  sources: z.array(
    z.strictObject({
      source: z.string(),
      completeAt: Time.nullable().describe('The end of the last complete run.'),
      nextRunAt: Time.nullable().describe('Null if no run begins automatically.'),
      pausedUntil: Time.nullable(),
    }),
  ),
  pausedQueues: z.array(z.enum(QUEUE_NAMES)).nullable().describe('Null while the queue is out of reach.'),
  requestsPerSecond: z.strictObject({
    now: z.number(),
    allowed: z.number().nullable().describe('The rate that the API allows, as far as dpp-sync knows it.'),
  }),
  lastReload: z.strictObject({ at: Time, ok: z.boolean(), errors: z.array(z.string()) }).nullable(),
});

export const showStatus = defineOperation({
  name: 'status',
  kind: 'look',
  tag: 'daemon',
  role: 'viewer',
  summary: 'Shows health, counts, runs, exports that the guard holds, the rate, and the last reload of the config.',
  at: 'GET /status',
  request: Nothing,
  result: Status,
  async run(_, { runtime, daemon }: OperationContext) {
    const { care } = runtime;
    if (daemon === null || care === null) throw fault('usage', 'No daemon works on this ledger.');
    const { version, startedAt, activity } = daemon;
    const [{ status, ledger, queue, api }, standing, pausedQueues] = await Promise.all([
      daemon.health.check(),
      daemon.standing(),
      daemon.pausedQueues(),
    ]);
    const { items, quarantined } = standing;
    const guarded = [...standing.guarded];
    const passports = Object.fromEntries(PASSPORT_STATES.map((state) => [state, standing.passports[state] ?? 0]));
    const sources = standing.sources.map(({ source, completeAt, nextRunAt }) => {
      return { source, completeAt, nextRunAt, pausedUntil: care.pausedUntil(source) };
    });
    const requestsPerSecond = { now: activity.requestsPerSecond(), allowed: runtime.api.learntRate() };
    const of = { version, startedAt, running: daemon.running(), lastReload: care.lastReload(), requestsPerSecond };
    const lost = runtime.ledgerLost();
    if (lost !== null) throw lost;
    return { ...of, status, ledger, queue, api, items, passports, quarantined, guarded, sources, pausedQueues };
  },
});

/** Only the memory of the process that sends deliveries has their stages. */
export const deliveryStages = defineOperation({
  name: 'delivery-stages',
  kind: 'look',
  tag: 'daemon',
  role: 'viewer',
  summary: 'Counts the deliveries in each stage.',
  at: 'GET /delivery-stages',
  request: Nothing,
  result: z.strictObject({
    due: Count.describe('Due in the ledger, and not taken up by the daemon.'),
    enqueued: Count,
    received: Count,
    admitted: Count,
    inFlight: Count,
    inFlightSince: Time.nullable().describe('Since when the first delivery is in flight; null if none is.'),
  }),
  run: async (_, { runtime: { engine, reads } }: OperationContext) =>
    engine.stages((await reads.openDeliveries()).left),
});

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
