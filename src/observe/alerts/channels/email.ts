import type { Transporter } from 'nodemailer';
import type { ChannelSettings, Notice } from '../../../domain/alert-settings.ts';
import { withAnySignal } from '../../../lib/with-any-signal.ts';
import { type Channel, reasonOf, SEND_MS } from './channel.ts';

type EmailSettings = Extract<ChannelSettings, { type: 'email' }>;

/** Sends mail by SMTP, over TLS except to this machine itself. */
export function createEmail(settings: EmailSettings): Channel {
  const { id, host, port, security, login, from, to } = settings;

  async function withTransport<T>(use: (transport: Transporter) => Promise<T>, signal: AbortSignal): Promise<T> {
    // The library is loaded only at the first mail.
    const { createTransport } = await import('nodemailer');
    const auth = login === null ? {} : { auth: { user: login.user, pass: await login.password.read() } };
    const transport = createTransport({
      host,
      port,
      secure: security === 'tls',
      requireTLS: security === 'starttls',
      ignoreTLS: security === 'none',
      ...auth,
      connectionTimeout: 10_000,
      greetingTimeout: 10_000,
      socketTimeout: SEND_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
      tls: { minVersion: 'TLSv1.2' },
    });
    const { promise: late, reject } = Promise.withResolvers<never>();
    const giveUp = () => reject(new Error(`${host}:${port} did not accept the mail in time.`));
    try {
      return await withAnySignal([signal, AbortSignal.timeout(SEND_MS)], (stop) => {
        if (stop.aborted) giveUp();
        stop.addEventListener('abort', giveUp, { once: true });
        return Promise.race([use(transport), late]);
      });
    } catch (error) {
      throw new Error(reasonOf(error));
    } finally {
      transport.close();
    }
  }

  return {
    id,
    type: 'email',
    async send(notice, signal) {
      const { subject, text } = mailOf(notice);
      await withTransport(
        (transport) =>
          transport.sendMail({
            from,
            to: [...to],
            subject,
            text,
            headers: { 'Auto-Submitted': 'auto-generated', 'X-Dpp-Sync-Alert': notice.alert },
          }),
        signal,
      );
    },
    check: (signal) => withTransport(async (transport) => void (await transport.verify()), signal),
  };
}

function mailOf({ title, message, status, host, alert, since }: Notice): { subject: string; text: string } {
  const mark = { firing: 'ALERT', resolved: 'OVER', test: 'TEST' }[status];
  const lines = [message, '', `Since ${new Date(since).toISOString()}, on ${host}.`];
  if (status !== 'test') lines.push('', 'To mute this alert for a time:', `dpp-sync alerts mute ${alert} --for 4h`);
  // A subject has to be one line, even if the name of a source has a line break.
  return { subject: `[dpp-sync] ${mark}: ${title}`.replace(/\s+/g, ' ').slice(0, 200), text: `${lines.join('\n')}\n` };
}
