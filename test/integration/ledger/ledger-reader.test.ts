import { chmodSync, chownSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createLedgerReader,
  type LedgerReader,
  type LedgerReaderOptions,
} from '../../../src/ledger/reader/ledger-reader.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { items, product } from '../../support/ledger/items.ts';
import { FORMS, NO_PASSPORTS, openLedger, useLedger } from '../../support/ledger/ledger.ts';
import { pullRows, row, stageRows } from '../../support/ledger/records.ts';
import { itWithAnotherUser, nodeAsAnotherUser, OTHER_USER } from '../../support/machine/as-another-user.ts';

const ODD = pathToFileURL(join(import.meta.dirname, 'odd-reader-child.ts'));
const [DIES, NEVER, WHEN_GO, AT_ONCE] = [1, 2, 3, 4];

const fixture = useLedger();
const readers: LedgerReader[] = [];
afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.close();
});

function read(options: Partial<LedgerReaderOptions> = {}): LedgerReader {
  const reader = createLedgerReader({
    file: fixture.file,
    ledgerId: fixture.ledger.id,
    forms: FORMS,
    passportRules: () => NO_PASSPORTS,
    clock: systemClock,
    ...options,
  });
  readers.push(reader);
  return reader;
}

describe('the reading thread', () => {
  it('the reading thread shows what another thread has committed', async () => {
    const { reads: views } = read();
    expect(await views.run(1)).toBeNull();
    await pullRows(fixture.ledger, { rows: [row('a')] });
    expect(await views.run(1)).toMatchObject({ source: 'erp', streams: [{ read: 1 }] });
  });

  it('the reading thread shows each commit to the questions after it, also while earlier ones are answered', async () => {
    const { reads: views } = read();
    const seen: unknown[] = [];
    const asked: Promise<unknown>[] = [];
    for (let at = 1; at <= 500; at += 1) {
      asked.push(views.causes({}), views.unproven());
      await fixture.ledger.noteDaemon('dueRuns', { erp: at });
      seen.push(await views.daemonNote('dueRuns'));
    }
    await Promise.all(asked);
    expect(seen).toEqual(Array.from({ length: 500 }, (_, at) => ({ erp: at + 1 })));
  });

  it('the reading thread answers while the thread that asks continues to write', async () => {
    const { reads: views } = read({ thread: ODD });
    const slow = views.run(WHEN_GO);
    await pullRows(fixture.ledger, { rows: [row('a')] });
    writeFileSync(`${fixture.file}.go`, '');
    expect(await slow).toBe(WHEN_GO);
  });

  it.runIf(process.platform === 'linux')('the reading thread gives way to the threads of the sync', async () => {
    const { reads: views } = read();
    await views.run(1);
    const ofThreads = readdirSync('/proc/self/task').map((id) => getPriority(Number(id)));
    expect(ofThreads).toContain(Math.max(getPriority(), 5));
    expect(getPriority(process.pid)).toBe(getPriority());
  });

  it('the reading thread follows the rules for passports, which a reload may change', async () => {
    await stageRows(fixture.ledger, { P1: items(product('P1')) });
    let rules = NO_PASSPORTS;
    const { reads: views } = read({ passportRules: () => rules });
    expect(await views.passportCounts({})).toEqual({ none: 1 });
    rules = { ...rules, init: 'when-complete' };
    expect(await views.passportCounts({})).toEqual({ incomplete: 1 });
  });

  it.each([
    ['removed', () => rmSync(fixture.file)],
    ['moved away', () => renameSync(fixture.file, `${fixture.file}.old`)],
  ])('the reading thread refuses to show a ledger that was %s while it was open', async (_, change) => {
    const { reads: views } = read();
    await views.run(1);
    change();
    await expect(views.run(1)).rejects.toMatchObject({ code: 'ledger.lost', exitCode: 3, path: 'ledger' });
  });

  it('the reading thread refuses to show another ledger than the one that the process has open', async () => {
    await openLedger(`${fixture.file}.other`).close();
    const { reads: views } = read();
    await views.run(1);
    renameSync(`${fixture.file}.other`, fixture.file);
    await expect(views.run(1)).rejects.toMatchObject({ code: 'ledger.lost' });
    const { reads: foreign } = read({ ledgerId: 'another' });
    await expect(foreign.run(1)).rejects.toMatchObject({ code: 'ledger.lost' });
  });

  it('the reading thread reports the fault of a ledger that is gone before the first question', async () => {
    rmSync(fixture.file);
    await expect(read().reads.run(1)).rejects.toMatchObject({ code: 'ledger.restored', exitCode: 3 });
    rmSync(`${fixture.file}.mark`);
    await expect(read().reads.run(1)).rejects.toMatchObject({ code: 'ledger.lost', exitCode: 3 });
  });

  itWithAnotherUser('needs no write access to the folder beside a process that writes', async () => {
    await pullRows(fixture.ledger, { rows: [row('a')] });
    const folder = dirname(fixture.file);
    for (const name of readdirSync(folder)) chownSync(join(folder, name), OTHER_USER, OTHER_USER);
    chmodSync(folder, 0o555);
    const child = join(import.meta.dirname, 'reading-child.ts');
    const { stdout, stderr } = nodeAsAnotherUser([child, fixture.file, fixture.ledger.id]);
    chmodSync(folder, 0o755);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ source: 'erp', streams: [{ read: 1 }] });
  });

  itWithAnotherUser('says what to do where the folder is shut and no process writes', async () => {
    const { id } = fixture.ledger;
    await fixture.ledger.close();
    const folder = dirname(fixture.file);
    for (const name of readdirSync(folder)) chownSync(join(folder, name), OTHER_USER, OTHER_USER);
    chmodSync(folder, 0o555);
    const child = join(import.meta.dirname, 'reading-child.ts');
    const { stdout } = nodeAsAnotherUser([child, fixture.file, id]);
    chmodSync(folder, 0o755);
    expect(stdout).toContain('cannot be read: no process has it open, and this process may not write to its folder');
    for (const name of readdirSync(folder)) chownSync(join(folder, name), 0, 0);
    await fixture.reopen();
  });

  it('the reading thread is started again after it has ended, and its open questions fail', async () => {
    const { reads: views } = read({ thread: ODD });
    const asked = [views.run(NEVER), views.run(DIES), views.run(AT_ONCE)];
    const ended = { code: 'ledger.reader_lost', message: expect.stringContaining('planned end') };
    for (const one of asked) await expect(one).rejects.toMatchObject(ended);
    expect(await views.run(AT_ONCE)).toBe(AT_ONCE);
  });

  it('the reading thread is replaced when it does not answer in time, and fails questions that waited too long', async () => {
    // A thread needs some time to start, more so beside other tests.
    const { reads: views } = read({ thread: ODD, answerWithinMs: 12_000 });
    const asked = Array.from({ length: 9 }, () => views.run(NEVER).catch((error: unknown) => error));
    for (const failed of await Promise.all(asked)) expect(failed).toMatchObject({ code: 'ledger.reader_lost' });
    expect(await views.run(AT_ONCE)).toBe(AT_ONCE);
  });

  it('the reading thread answers thousands of questions at once, and refuses more than it can keep', async () => {
    const { reads: views } = read();
    const asked = await Promise.allSettled(Array.from({ length: 5100 }, () => views.run(1)));
    const refused = asked.filter((one) => one.status === 'rejected');
    expect(refused).toHaveLength(100);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'daemon.busy' });
  });

  it('the reading thread fails open questions when it is closed, and lets the ledger remove its log', async () => {
    const reader = read({ thread: ODD });
    const open = expect(reader.reads.run(NEVER)).rejects.toMatchObject({ code: 'daemon.stopped' });
    await reader.close();
    await open;
    await expect(reader.reads.run(1)).rejects.toMatchObject({ code: 'daemon.stopped' });

    // Ended by force while it loads SQLite, the thread would end the process.
    const early = read();
    const asked = expect(early.reads.run(1)).rejects.toMatchObject({ code: 'daemon.stopped' });
    await early.close();
    await asked;

    const other = read();
    await other.reads.run(1);
    expect(existsSync(`${fixture.file}-wal`)).toBe(true);
    await other.close();
    await fixture.ledger.close();
    expect(existsSync(`${fixture.file}-wal`)).toBe(false);
    await fixture.reopen();
  });
});
