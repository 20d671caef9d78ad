// What a person can ask about alerts.

import { z } from 'zod';
import { fault } from '../domain/faults.ts';
import { ALERT_CONDITIONS } from '../domain/ports/alerts.ts';
import { createAlertBook } from '../observe/alerts/alert-book.ts';
import { Time, worked } from './documents.ts';
import { defineOperation, type Operation } from './operation.ts';
import type { EarlyContext, OperationContext, OperationRuntime } from './runtime.ts';

const Alert = z.strictObject({
  id: z.string(),
  condition: z.enum(ALERT_CONDITIONS),
  source: z.string().nullable(),
  stream: z.string().nullable(),
  firing: z.boolean(),
  since: Time,
  message: z.string(),
  mutedUntil: Time.nullable(),
  notices: z.array(
    z.strictObject({
      channel: z.string(),
      state: z.enum(['none', 'waiting', 'sent', 'given_up']),
      at: Time.nullable(),
      error: z.string().nullable(),
    }),
  ),
});

export const listAlerts = defineOperation({
  name: 'list-alerts',
  kind: 'look',
  tag: 'daemon',
  role: 'viewer',
  summary: 'Lists the alerts, those that fire first, and the state of their notices.',
  at: 'GET /alerts',
  request: z.strictObject({}),
  result: z.strictObject({
    channels: z.array(z.strictObject({ id: z.string(), type: z.enum(['webhook', 'email', 'exec']) })),
    alerts: z.array(Alert),
  }),
  async run(_, { runtime: { alerts, config, reads }, clock }: EarlyContext) {
    if (alerts !== null) return { channels: alerts.channels(), alerts: alerts.list() };
    const channels = config.alerts.channels.map(({ id, type }) => ({ id, type }));
    const kept = (await reads?.daemonNote('alerts'))?.alerts ?? [];
    const ids = channels.map(({ id }) => id);
    return { channels, alerts: createAlertBook({ alerts: kept }).view(ids, clock.now()) };
  },
  exitCode: () => 0,
});

export const testAlerts = defineOperation({
  name: 'test-alerts',
  kind: 'act',
  tag: 'daemon',
  role: 'operator',
  summary: 'Sends one message to each channel of the alerts.',
  at: 'POST /alerts/test',
  action: 'alerts.test',
  request: z.strictObject({}),
  result: z.array(z.strictObject({ channel: z.string(), ok: z.boolean(), error: z.string().nullable() })),
  run: async (_, { runtime: { alerts }, abort }) => (await alerts?.test(abort)) ?? [],
});

/** The longest mute. To stop the notices of an alert for ever, turn it off in the config. */
const MUTE_MS_MAX = 90 * 86_400_000;

const Request = z.strictObject({
  /** The id of the alert. */
  id: z.string().min(1).max(300),
  /** For how long, in milliseconds; null ends a mute. */
  forMs: z.number().int().positive().max(MUTE_MS_MAX).nullable(),
});
type Request = z.infer<typeof Request>;

interface Muted {
  id: string;
  mutedUntil: number | null;
}

/** Mutes an alert for a time, or ends its mute. */
export const muteAlert: Operation<Request, Muted, OperationContext> = {
  name: 'mute-alert',
  kind: 'work',
  tag: 'daemon',
  role: 'operator',
  summary: 'Mutes the notices of an alert for a time, or ends that.',
  request: Request,
  result: worked(),
  async run({ id, forMs }, { runtime, clock }) {
    const mutedUntil = forMs === null ? null : clock.now() + forMs;
    const { alerts } = runtime;
    if (alerts === null) await muteKept(runtime, id, mutedUntil);
    else if (mutedUntil === null) await alerts.unmute(id);
    else await alerts.mute(id, mutedUntil);
    return { id, mutedUntil };
  },
  exitCode: () => 0,
};

/** Without a daemon nothing is sent; the next daemon finds the mute in the ledger. */
async function muteKept({ ledger, reads }: OperationRuntime, id: string, mutedUntil: number | null): Promise<void> {
  const note = await reads.daemonNote('alerts');
  const alert = note?.alerts.find((one) => one.id === id);
  if (!note || !alert) {
    throw fault('usage', `There is no alert ${id}.`, { suggestion: 'See the alerts: dpp-sync alerts list' });
  }
  alert.mutedUntil = mutedUntil;
  await ledger.noteDaemon('alerts', note);
}
