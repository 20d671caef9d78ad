import type { ChannelSettings, Notice } from '../../../domain/alert-settings.ts';
import { isLoopback } from '../../../lib/loopback.ts';
import { withAnySignal } from '../../../lib/with-any-signal.ts';
import { type Channel, noticeDocument, reasonOf, SEND_MS } from './channel.ts';

type WebhookSettings = Extract<ChannelSettings, { type: 'webhook' }>;

/** Posts JSON to an address. Follows no redirect: another host must not get the content that was meant for this one. */
export function createWebhook({ id, url, format, token }: WebhookSettings): Channel {
  async function address(): Promise<URL> {
    const parsed = URL.parse(await url.read());
    if (parsed === null) throw new Error(`The url of the channel ${id} is not a valid URL.`);
    if (parsed.protocol !== 'https:' && !(parsed.protocol === 'http:' && isLoopback(parsed.hostname))) {
      throw new Error(`The url of the channel ${id} is not https.`);
    }
    return parsed;
  }

  return {
    id,
    type: 'webhook',
    async send(notice, signal) {
      const to = await address();
      const bearer = token === null ? null : await token.read();
      const body = JSON.stringify(format === 'slack' ? slackMessage(notice) : noticeDocument(notice));
      try {
        const answer = await withAnySignal([signal, AbortSignal.timeout(SEND_MS)], (within) =>
          fetch(to, {
            method: 'POST',
            redirect: 'manual',
            headers: {
              'content-type': 'application/json',
              'user-agent': 'dpp-sync',
              ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
            },
            body,
            signal: within,
          }),
        );
        // The body is not read: it may be of any length, and may repeat the token.
        await answer.body?.cancel();
        const { status } = answer;
        if (status >= 300 && status < 400) {
          throw new Error(
            `${to.host} answered ${status}, a redirect, which dpp-sync does not follow: put the new address into the config.`,
          );
        }
        if (!answer.ok) throw new Error(`${to.host} answered ${status}.`);
      } catch (error) {
        throw withoutAddress(error, to);
      }
    },
    async check() {
      await address();
      await token?.read();
    },
  };
}

/** The reason without the address, because the path of the address usually contains a token. */
function withoutAddress(error: unknown, { host, href, pathname }: URL): Error {
  const reason = reasonOf(error).replaceAll(href, host);
  return new Error(pathname.length > 1 ? reason.replaceAll(pathname, '/…') : reason);
}

/** The format of Slack and of services that follow it. There `&`, `<` and `>` are control characters, so they are escaped. */
function slackMessage({ title, message, status }: Notice): object {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const mark = { firing: ':red_circle:', resolved: ':large_green_circle:', test: ':white_circle:' }[status];
  return { text: `${mark} *${escaped(title)}*\n${escaped(message)}` };
}
