import type { ChannelSettings } from '../../domain/alert-settings.ts';
import type { Channel } from './channels/channel.ts';
import { createEmail } from './channels/email.ts';
import { createExec } from './channels/exec.ts';
import { createWebhook } from './channels/webhook.ts';

export function createChannels(
  settings: readonly ChannelSettings[],
  options: { environment: Record<string, string> },
): Channel[] {
  return settings.map((one) => {
    if (one.type === 'webhook') return createWebhook(one);
    if (one.type === 'email') return createEmail(one);
    return createExec(one, options.environment);
  });
}
