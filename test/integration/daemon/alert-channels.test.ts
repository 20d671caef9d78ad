import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChannelSettings, Notice } from '../../../src/domain/ports/alerts.ts';
import { createChannels } from '../../../src/observe/alerts/channels.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { endServer } from '../../support/servers/local-server.ts';

const NOTICE: Notice = {
  alert: 'run_failed/erp',
  status: 'firing',
  condition: 'run_failed',
  source: 'erp',
  stream: null,
  title: 'Run failed: erp',
  message: 'The file <gone> & away.',
  since: Date.UTC(2026, 0, 2, 3, 4, 5),
  host: 'machine',
};
const NEVER = new AbortController().signal;
const secret = (text: string) => ({ read: async () => text });

function channelOf(settings: ChannelSettings, environment: Record<string, string> = {}) {
  const [channel] = createChannels([settings], { environment });
  if (channel === undefined) throw new Error('There is no channel.');
  return channel;
}

describe('a webhook', () => {
  let server: Server;
  let url: string;
  let asked: { request: IncomingMessage; body: string }[];
  let answer: { status: number; headers?: Record<string, string>; body?: string };

  beforeEach(async () => {
    asked = [];
    answer = { status: 200 };
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += String(chunk);
      });
      request.on('end', () => {
        asked.push({ request, body });
        response.writeHead(answer.status, answer.headers).end(answer.body ?? 'ok');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  const hook = (options: { format?: 'json' | 'slack'; token?: string; to?: string } = {}) =>
    channelOf({
      id: 'team',
      type: 'webhook',
      url: secret(options.to ?? `${url}/hook/T0KEN-0123456789`),
      format: options.format ?? 'json',
      token: options.token === undefined ? null : secret(options.token),
    });

  it('a webhook gets all that is known of an alert as JSON, with the token of the config', async () => {
    await hook({ token: 'bearer-0123456789' }).send(NOTICE, NEVER);
    const [{ request, body } = { request: null, body: '' }] = asked;
    expect(request?.method).toBe('POST');
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      authorization: 'Bearer bearer-0123456789',
    });
    expect(JSON.parse(body)).toEqual({
      application: 'dpp-sync',
      host: 'machine',
      alert: 'run_failed/erp',
      status: 'firing',
      condition: 'run_failed',
      source: 'erp',
      stream: null,
      title: 'Run failed: erp',
      message: 'The file <gone> & away.',
      since: '2026-01-02T03:04:05.000Z',
    });
  });

  it('a webhook gets a message in the format of Slack, in which the text of a source is no markup', async () => {
    await hook({ format: 'slack' }).send(NOTICE, NEVER);
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual({
      text: ':red_circle: *Run failed: erp*\nThe file &lt;gone&gt; &amp; away.',
    });
  });

  it('a webhook that redirects is not followed, and one that answers with an error has failed, without the token in the reason', async () => {
    answer = { status: 302, headers: { location: `${url}/elsewhere` } };
    await expect(hook().send(NOTICE, NEVER)).rejects.toThrow(
      /answered 302, a redirect, which dpp-sync does not follow/,
    );
    expect(asked).toHaveLength(1);
    answer = { status: 500, body: 'T0KEN-0123456789'.repeat(100_000) };
    const failure = hook().send(NOTICE, NEVER);
    await expect(failure).rejects.toThrow(/^127\.0\.0\.1:\d+ answered 500\.$/);
    await new Promise((resolve) => server.close(resolve));
    await expect(hook().send(NOTICE, NEVER)).rejects.not.toThrow(/T0KEN/);
    await expect(hook().send(NOTICE, NEVER)).rejects.toThrow(/ECONNREFUSED/);
  });

  it('a webhook without https is refused, except towards this machine', async () => {
    await expect(hook({ to: 'http://example.com/hook' }).check(NEVER)).rejects.toThrow('is not https');
    await expect(hook({ to: 'no URL' }).send(NOTICE, NEVER)).rejects.toThrow('is not a valid URL');
    await hook().check(NEVER);
    expect(asked).toEqual([]);
  });

  it('a webhook that does not answer is given up when the daemon is stopped', async () => {
    const abort = new AbortController();
    const silent = createServer(() => abort.abort());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const to = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    await expect(hook({ to }).send(NOTICE, abort.signal)).rejects.toThrow(/abort/i);
    await endServer(silent);
  });
});

describe('mail', () => {
  let servers: SMTPServer[];
  let mails: string[];
  beforeEach(() => {
    servers = [];
    mails = [];
  });
  afterEach(() => Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(resolve)))));

  async function listen(options: SMTPServerOptions = {}): Promise<number> {
    const server = new SMTPServer({
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) => {
        if (username === 'dpp' && password === 'mail-password') done(null, { user: 'dpp' });
        else done(new Error('Invalid login'));
      },
      onData(stream, _session, done) {
        let text = '';
        stream.on('data', (chunk) => {
          text += String(chunk);
        });
        stream.on('end', () => {
          mails.push(text);
          done();
        });
      },
      ...options,
    });
    server.on('error', () => undefined);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.server.address() as AddressInfo).port;
  }
  const mail = (port: number, options: Partial<Extract<ChannelSettings, { type: 'email' }>> = {}) =>
    channelOf({
      id: 'mail',
      type: 'email',
      host: '127.0.0.1',
      port,
      security: 'none',
      login: { user: 'dpp', password: secret('mail-password') },
      from: 'dpp-sync <dpp@example.com>',
      to: ['team@example.com', 'lead@example.com'],
      ...options,
    });

  it('an alert by mail has what happened in its subject and text, and says how to mute it', async () => {
    const port = await listen();
    await mail(port).send({ ...NOTICE, title: 'Run failed: erp\r\nBcc: evil@example.com' }, NEVER);
    expect(mails).toHaveLength(1);
    const [text = ''] = mails;
    expect(text).toContain('Subject: [dpp-sync] ALERT: Run failed: erp Bcc: evil@example.com');
    expect(text).not.toMatch(/^Bcc:/m);
    expect(text).toContain('To: team@example.com, lead@example.com');
    expect(text).toContain('Auto-Submitted: auto-generated');
    expect(text).toContain('The file <gone> & away.');
    expect(text).toContain('dpp-sync alerts mute run_failed/erp --for 4h');
  });

  it('mail is checked by a login without a mail, and a wrong password is reported without the password', async () => {
    const port = await listen();
    await mail(port).check(NEVER);
    expect(mails).toEqual([]);
    const wrong = mail(port, { login: { user: 'dpp', password: secret('wrong-password') } });
    await expect(wrong.check(NEVER)).rejects.toThrow(/Invalid login/);
    await expect(wrong.send(NOTICE, NEVER)).rejects.not.toThrow(/wrong-password/);
    expect(mails).toEqual([]);
  });

  it('mail is not sent where the server lacks the encryption that the config demands', async () => {
    const port = await listen();
    await expect(mail(port, { security: 'starttls' }).send(NOTICE, NEVER)).rejects.toThrow(/STARTTLS/i);
    await expect(mail(port, { security: 'tls' }).send(NOTICE, NEVER)).rejects.toThrow();
    expect(mails).toEqual([]);
  });

  it('mail is not sent over a connection whose certificate nobody vouches for', async () => {
    // The server has signed its certificate itself.
    const port = await listen({ disabledCommands: [] });
    await expect(mail(port, { security: 'starttls' }).send(NOTICE, NEVER)).rejects.toThrow(/certificate/i);
    expect(mails).toEqual([]);
  });
});

describe('a program', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dpp-alerts-'));
  });
  afterEach(() => removeFolder(folder));

  function script(text: string): string {
    const file = join(folder, 'notify');
    writeFileSync(file, `#!/bin/sh\n${text}\n`);
    chmodSync(file, 0o755);
    return file;
  }
  const run = (program: string, options: { args?: string[]; timeoutMs?: number } = {}) =>
    channelOf(
      { id: 'pager', type: 'exec', program, args: options.args ?? [], timeoutMs: options.timeoutMs ?? 120_000 },
      { PATH: '/usr/bin:/bin' },
    );

  it('a program gets the alert on stdin, its arguments as they are, and no secret of the environment', async () => {
    const program = script(`cat > "${folder}/stdin"; printf '%s\\n' "$@" > "${folder}/args"; env > "${folder}/env"`);
    process.env['DPP_SYNC_TEST_PLANTED'] = 'planted-secret-0123456789';
    await run(program, { args: ['--level', '$(touch evil); `x`'] }).send(NOTICE, NEVER);
    delete process.env['DPP_SYNC_TEST_PLANTED'];
    expect(JSON.parse(readFileSync(join(folder, 'stdin'), 'utf8'))).toMatchObject({ alert: 'run_failed/erp' });
    expect(readFileSync(join(folder, 'args'), 'utf8')).toBe('--level\n$(touch evil); `x`\n');
    expect(readFileSync(join(folder, 'env'), 'utf8')).not.toContain('planted-secret');
    expect(existsSync(join(folder, 'evil'))).toBe(false);
  });

  it('a program that ends with another code than 0 has failed, with the beginning of what it wrote', async () => {
    const program = script(`head -c 100000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 3`);
    const error: unknown = await run(program)
      .send(NOTICE, NEVER)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).message).toMatch(/ended with exit code 3\. It wrote: x+$/);
    expect((error as Error).message.length).toBeLessThan(2200);
  });

  it('a program that does not end is killed', async () => {
    const sending = run(script('sleep 600'), { timeoutMs: 1000 }).send(NOTICE, NEVER);
    await expect(sending).rejects.toThrow('took longer than 1 s and was killed');
  });

  it('a program that is stopped with the daemon is killed with all that it has started', async () => {
    const file = join(folder, 'child');
    const abort = new AbortController();
    const sending = run(script(`sleep 600 & echo $! > "${file}"; wait`)).send(NOTICE, abort.signal);
    const failed = expect(sending).rejects.toThrow('was stopped with the daemon');
    const child = () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0);
    await expect.poll(child).toBeGreaterThan(0);
    abort.abort();
    await failed;
    await expect.poll(() => isRunning(child())).toBe(false);
  });

  it('a program for alerts need not read its stdin, and a program that is missing is reported', async () => {
    await run(script('exit 0')).send(NOTICE, NEVER);
    await expect(run(join(folder, 'nothing')).send(NOTICE, NEVER)).rejects.toThrow(/could not be run: .*ENOENT/);
    await expect(run(join(folder, 'nothing')).check(NEVER)).rejects.toThrow(/cannot be run/);
    await expect(run(folder).check(NEVER)).rejects.toThrow('the path names no file');
    await run(script('exit 1')).check(NEVER);
  });
});

/** A process that has ended may wait for its parent to ask for its exit code. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
