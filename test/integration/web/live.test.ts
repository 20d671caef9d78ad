import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { askWeb, visitWeb } from '../../support/browser/web-visitor.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { createProductsWorld, type ServedWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';

/** The machine may be busy with other tests. */
const soon = (condition: () => boolean) => vi.waitUntil(condition, { timeout: WAIT_MS });

describe('the stream of changes', () => {
  let web: ServedWorld;
  beforeAll(async () => {
    web = await startDaemon(await createProductsWorld());
  });
  afterAll(() => web.remove());

  /** Opens a stream and collects its text. */
  function listen(cookie: string, reads = true) {
    const socket = connect(Number(new URL(web.url).port), '127.0.0.1');
    const stream = { text: '', open: true, end: () => void socket.destroy() };
    socket.setEncoding('utf8').on('close', () => (stream.open = false));
    socket.on('error', () => undefined);
    if (reads) socket.on('data', (text: string) => (stream.text += text));
    socket.write(`GET /live HTTP/1.1\r\nHost: ${new URL(web.url).host}\r\nCookie: ${cookie}\r\n\r\n`);
    return stream;
  }
  const changes = ({ text }: { text: string }) => text.match(/event: change/g)?.length ?? 0;
  const change = () => web.daemon.runtime.bus.emit({ type: 'run_ended', source: 'erp', result: 'complete' });

  it('the stream of changes reports a thousand changes as few, and has no data', async () => {
    const { cookie } = await visitWeb(web.url, { password: WEB_TOKEN });
    const stream = listen(cookie);
    await soon(() => stream.text.includes('retry:'));
    expect(stream.text).toMatch(/^HTTP\/1\.1 200 [^]*content-security-policy: [^]*text\/event-stream/i);
    for (let at = 0; at < 1000; at += 1) change();
    await soon(() => changes(stream) > 0);
    change();
    await soon(() => changes(stream) === 2);
    expect(stream.text.replace(/^[^]*?\r\n\r\n/, '').replace(/^[0-9a-f]+\r\n|\r\n/gm, '')).toMatch(
      /^retry: 3000\n\n(?:event: change\ndata: 1\n\n){2}$/,
    );
    stream.end();
  });

  it('the stream of changes reports a change that came shortly before the page listened, which the page may lack', async () => {
    const { cookie } = await visitWeb(web.url, { password: WEB_TOKEN });
    change();
    const stream = listen(cookie);
    await soon(() => changes(stream) === 1);
    stream.end();
  });

  it('the stream of changes ends at the logout, and is refused without a login', async () => {
    const person = await visitWeb(web.url, { password: WEB_TOKEN });
    const stream = listen(person.cookie);
    await soon(() => stream.text.includes('retry:'));
    expect((await person.post('/logout', {})).status).toBe(303);
    await soon(() => stream.text.endsWith('0\r\n\r\n'));
    stream.end();
    expect((await askWeb(web.url, '/live')).status).toBe(401);
    expect((await askWeb(web.url, '/live', { headers: { cookie: person.cookie } })).status).toBe(401);
  });

  it('the streams of changes of one person are bounded by ending the oldest', async () => {
    const { cookie } = await visitWeb(web.url, { password: WEB_TOKEN });
    const streams: ReturnType<typeof listen>[] = [];
    for (let at = 0; at < 14; at += 1) {
      const stream = listen(cookie);
      streams.push(stream);
      await soon(() => stream.text.includes('retry:'));
    }
    await soon(() => streams.filter(({ text }) => text.endsWith('0\r\n\r\n')).length === 2);
    expect(streams.slice(0, 2).every(({ text }) => text.endsWith('0\r\n\r\n'))).toBe(true);
    for (const { end } of streams) end();
  });

  it('the stream of changes does not keep the daemon from stopping', async () => {
    const other = await startDaemon(await createProductsWorld());
    const { cookie } = await visitWeb(other.url, { password: WEB_TOKEN });
    const socket = connect(Number(new URL(other.url).port), '127.0.0.1');
    let said = '';
    socket.setEncoding('utf8').on('data', (text: string) => (said += text));
    socket.write(`GET /live HTTP/1.1\r\nHost: ${new URL(other.url).host}\r\nCookie: ${cookie}\r\n\r\n`);
    await soon(() => said.includes('retry:'));
    await other.remove();
  });
});
