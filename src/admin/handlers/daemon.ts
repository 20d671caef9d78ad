// The requests about the daemon itself.

import { z } from 'zod';
import type { Reloaded } from '../../daemon/reload/reload-status.ts';
import type { Runtime } from '../../daemon/runtime.ts';
import type { StageCounts } from '../../delivery/delivery-window.ts';
import { fault } from '../../domain/faults.ts';
import type { BackupFile } from '../../domain/ports/daemon-notes.ts';
import type { Handler, HandlerContext } from '../handler.ts';

/**
 * Makes the daemon write a backup of its ledger into the folder of the config's `backups`.
 *
 * @throws Fault `usage` without a daemon or without `backups` in its config, `ledger.unwritable` if the backup cannot be made
 */
export const backUp: Handler<Record<string, never>, BackupFile> = {
  name: 'backup',
  request: z.strictObject({}),
  async handle(_request, { runtime }) {
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
export const reloadConfig: Handler<Record<string, never>, Reloaded> = {
  name: 'reload',
  request: z.strictObject({}),
  async handle(_request, { runtime }) {
    if (runtime.care !== null) return await runtime.care.reload('person');
    throw fault('usage', 'No daemon works on this ledger, so there is nothing to reload.', {
      suggestion: 'Every command reads the config when it begins. `dpp-sync start` starts a daemon.',
    });
  },
};

/** Reads how many deliveries are in each stage. Only the memory of the process that sends them has the stages. */
export const deliveryStages: Handler<Record<string, never>, StageCounts> = {
  name: 'delivery-stages',
  isRead: true,
  isLook: true,
  request: z.strictObject({}),
  handle: async (_request, { runtime }) => runtime.engine.stages((await runtime.reads.openDeliveries()).left),
};

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
export const muteAlert: Handler<Request, Muted, Pick<HandlerContext, 'runtime' | 'clock'>> = {
  name: 'mute-alert',
  request: Request,
  async handle({ id, forMs }, { runtime, clock }) {
    const mutedUntil = forMs === null ? null : clock.now() + forMs;
    const { alerts } = runtime;
    if (alerts === null) await muteKept(runtime, id, mutedUntil);
    else if (mutedUntil === null) await alerts.unmute(id);
    else await alerts.mute(id, mutedUntil);
    return { id, mutedUntil };
  },
};

/** Without a daemon nothing is sent; the next daemon finds the mute in the ledger. */
async function muteKept({ ledger, reads }: Runtime, id: string, mutedUntil: number | null): Promise<void> {
  const note = await reads.daemonNote('alerts');
  const alert = note?.alerts.find((one) => one.id === id);
  if (!note || !alert) {
    throw fault('usage', `There is no alert ${id}.`, { suggestion: 'See the alerts: dpp-sync alerts list' });
  }
  alert.mutedUntil = mutedUntil;
  await ledger.noteDaemon('alerts', note);
}
