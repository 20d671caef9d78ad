import { z } from 'zod';
import type { Runtime } from '../../daemon/runtime.ts';
import { fault } from '../../domain/faults.ts';
import type { Handler, HandlerContext } from '../handler.ts';

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
async function muteKept({ ledger, views }: Runtime, id: string, mutedUntil: number | null): Promise<void> {
  const note = views.daemonNote('alerts');
  const alert = note?.alerts.find((one) => one.id === id);
  if (!note || !alert) {
    throw fault('usage', `There is no alert ${id}.`, { suggestion: 'See the alerts: dpp-sync alerts list' });
  }
  alert.mutedUntil = mutedUntil;
  await ledger.noteDaemon('alerts', note);
}
