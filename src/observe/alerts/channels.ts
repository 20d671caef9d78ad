import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import type { Transporter } from 'nodemailer';
import type { ChannelSettings, Notice } from '../../domain/ports/alerts.ts';
import { isLoopback } from '../../lib/loopback.ts';
import { withAnySignal } from '../../lib/with-any-signal.ts';

/** A way to send notices to people. */
export interface Channel {
  id: string;
  type: 'webhook' | 'email' | 'exec';
  /**
   * Sends a notice once.
   *
   * @throws Error whose message is a full sentence without secrets, as far as the channel knows them
   */
  send(notice: Notice, signal: AbortSignal): Promise<void>;
  /**
   * Checks as far as possible whether a notice could be sent, without sending one.
   *
   * @throws Error as `send` does
   */
  check(signal: AbortSignal): Promise<void>;
}

/** No channel may take longer than this for one notice. */
const SEND_MS = 30_000;

/** The form of a notice that the generic webhook and a program get. */
function noticeDocument(notice: Notice): object {
  const { alert, status, condition, source, stream, title, message, since, host } = notice;
  const at = new Date(since).toISOString();
  return { application: 'dpp-sync', host, alert, status, condition, source, stream, title, message, since: at };
}

/** The messages of an error and of its causes, as sentences. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
  return /[.!?]$/.test(cause) ? cause : `${cause}.`;
}

/** The channels of a config. `environment` has the variables that programs get. */
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

type EmailSettings = Extract<ChannelSettings, { type: 'email' }>;

/** Sends mail by SMTP, over TLS except to this machine itself. */
function createEmail(settings: EmailSettings): Channel {
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

type WebhookSettings = Extract<ChannelSettings, { type: 'webhook' }>;

/** Posts JSON to an address. Follows no redirect: another host must not get the content that was meant for this one. */
function createWebhook({ id, url, format, token }: WebhookSettings): Channel {
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

type ExecSettings = Extract<ChannelSettings, { type: 'exec' }>;

/** The most bytes of a program's stderr that are kept for the reason of its failure. The rest is read and dropped. */
const OUTPUT_BYTES_MAX = 2000;
/** How long the channel waits for the output after the program has ended. */
const OUTPUT_MS = 500;

/**
 * Runs a program, without a shell, with the notice as JSON on stdin. The arguments and the environment contain no part
 * of the notice, and the environment contains no secret of this process.
 *
 * @param environment the variables of this process that the program gets
 */
function createExec({ id, program, args, timeoutMs }: ExecSettings, environment: Record<string, string>): Channel {
  return {
    id,
    type: 'exec',
    send(notice, signal) {
      return new Promise((resolve, reject) => {
        // The program runs in a separate process group, so that the children of the program end with the program.
        const child = spawn(program, [...args], {
          shell: false,
          env: environment,
          stdio: ['pipe', 'ignore', 'pipe'],
          detached: true,
        });
        let words = Buffer.alloc(0);
        let stoppedFor: string | null = null;
        const stop = (why: string): void => {
          stoppedFor ??= why;
          killGroup(child.pid);
        };
        const onAbort = () => stop('was stopped with the daemon.');
        const timer = setTimeout(() => stop(`took longer than ${timeoutMs / 1000} s and was killed.`), timeoutMs);
        signal.addEventListener('abort', onAbort, { once: true });
        const leave = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
        };
        child.on('error', (error) => {
          leave();
          reject(new Error(`${program} could not be run: ${error.message}.`));
        });
        child.stderr.on('data', (chunk: Buffer) => {
          if (words.length < OUTPUT_BYTES_MAX) words = Buffer.concat([words, chunk]).subarray(0, OUTPUT_BYTES_MAX);
        });
        const end = (code: number | null, killedBy: string | null): void => {
          if (code === 0 && stoppedFor === null) {
            resolve();
            return;
          }
          const how = stoppedFor ?? (code === null ? `was killed by ${killedBy}.` : `ended with exit code ${code}.`);
          const said = words.toString('utf8').trim();
          reject(new Error(`${program} ${how}${said === '' ? '' : ` It wrote: ${said}`}`));
        };
        child.on('exit', (code, killedBy) => {
          leave();
          killGroup(child.pid);
          // The last output of the program may still be in the pipe. The wait is bounded, because a process that has
          // left the group could hold the pipe open for ever.
          const timeout = setTimeout(() => child.stderr.destroy(), OUTPUT_MS);
          child.on('close', () => {
            clearTimeout(timeout);
            end(code, killedBy);
          });
        });
        // A program need not read its stdin, so an error of the pipe is ignored.
        child.stdin.on('error', () => undefined);
        child.stdin.end(`${JSON.stringify(noticeDocument(notice))}\n`);
        if (signal.aborted) onAbort();
      });
    },
    async check() {
      try {
        await access(program, constants.X_OK);
        if (!(await stat(program)).isFile()) throw new Error('the path names no file');
      } catch (error) {
        throw new Error(`${program} cannot be run: ${error instanceof Error ? error.message : String(error)}.`);
      }
    },
  };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The whole group has already ended.
  }
}
