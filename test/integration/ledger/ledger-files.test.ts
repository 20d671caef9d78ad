import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Profile } from '../../../src/domain/profile.ts';
import { restoreLedger } from '../../../src/ledger/backup/restore.ts';
import { makeDurableFolder } from '../../../src/ledger/file/file.ts';
import { readMark } from '../../../src/ledger/file/identity.ts';
import { openLedgerReads } from '../../../src/ledger/reads.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { openDatabase } from '../../../src/ledger/upgrade/open.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { covers } from '../../support/docs/reliability.ts';
import { claimOne } from '../../support/ledger/deliveries.ts';
import { items, product } from '../../support/ledger/items.ts';
import { FORMS, NO_PASSPORTS, openLedger, TARGET } from '../../support/ledger/ledger.ts';
import { pullAndMap, pullRows, row } from '../../support/ledger/records.ts';
import { itWithAnotherUser, nodeAsAnotherUser, OTHER_USER } from '../../support/machine/as-another-user.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { PRODUCTS } from '../../support/worlds/daemon-world.ts';

const CLI = join(import.meta.dirname, '../../../src/launcher.mjs');
const PARTS = ['', '-wal', '-shm', '.lock', '.mark'];

let folder: string;
let file: string;
let opened: SqliteLedger[] = [];

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'dpp-files-')));
  file = join(folder, 'data/ledger.db');
});
afterEach(async () => {
  for (const ledger of opened) await ledger.close().catch(() => undefined);
  opened = [];
  await removeFolder(folder);
});

function open(path = file): SqliteLedger {
  const ledger = openLedger(path);
  opened.push(ledger);
  return ledger;
}

async function close(ledger: SqliteLedger): Promise<void> {
  opened = opened.filter((one) => one !== ledger);
  await ledger.close();
}

const read = () => openLedgerReads({ file, passportRules: NO_PASSPORTS, forms: FORMS });
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** A copy of the files as they would be if the process were killed now; some files can be left out. */
function crash({ without = [] }: { without?: readonly string[] } = {}): string {
  const copy = join(mkdtempSync(join(folder, 'crashed-')), 'ledger.db');
  for (const part of PARTS) {
    if (existsSync(file + part) && !without.includes(part)) copyFileSync(file + part, copy + part);
  }
  return copy;
}

describe('the files of a ledger', () => {
  it('the files of a ledger are readable by their owner alone, whatever the umask, and so is a folder made for them', () => {
    const umask = process.umask(0);
    try {
      open();
    } finally {
      process.umask(umask);
    }
    expect(modeOf(dirname(file))).toBe('700');
    expect(Object.fromEntries(PARTS.map((part) => [part, modeOf(file + part)]))).toEqual(
      Object.fromEntries(PARTS.map((part) => [part, '600'])),
    );
  });

  it('the files of a ledger get stricter rights where their rights are wider', async () => {
    await close(open());
    for (const part of ['-wal', '-shm']) writeFileSync(file + part, '');
    for (const part of PARTS) chmodSync(file + part, 0o644);
    open();
    for (const part of PARTS) expect(modeOf(file + part), part).toBe('600');
  });

  it('a ledger does not follow a link that has been put in the place of its lock', () => {
    makeDurableFolder(dirname(file));
    const target = join(folder, 'other.txt');
    writeFileSync(target, 'other');
    chmodSync(target, 0o644);
    symlinkSync(target, `${file}.lock`);
    expect(() => open()).toThrow(expect.objectContaining({ code: 'ledger.unwritable', exitCode: 3 }));
    expect(() => open()).toThrow(`${file}.lock is not a regular file`);
    expect(modeOf(target)).toBe('644');
  });

  it('a damaged lock file is no damage of the ledger, and can be removed', async () => {
    await open().close();
    writeFileSync(`${file}.lock`, 'x'.repeat(20_000));
    expect(() => open()).toThrow(
      expect.objectContaining({
        code: 'ledger.unwritable',
        message: `The lock file ${file}.lock is damaged: file is not a database.`,
        suggestion: expect.stringMatching(/^It holds no data, .* remove the lock file/) as unknown,
      }),
    );
    rmSync(`${file}.lock`);
    await open().close();
  });

  itWithAnotherUser('cannot be opened by another user, who could lock them', () => {
    open();
    chmodSync(folder, 0o755);
    chmodSync(dirname(file), 0o755);
    for (const part of PARTS) {
      const { status, stderr } = nodeAsAnotherUser(['-e', `fs.openSync(${JSON.stringify(file + part)}, 'r')`]);
      expect(status, part).toBe(1);
      expect(stderr, part).toContain('EACCES');
    }
  });

  itWithAnotherUser('cannot be in a folder that may not be written, which the commands and check name', async () => {
    const configFile = join(folder, 'dpp-sync.yaml');
    const config = { target: { baseUrl: TARGET, apiKey: 'dpp_test' }, ledger: file, sources: [PRODUCTS.source] };
    writeFileSync(configFile, JSON.stringify(config));
    for (const [name, content] of Object.entries(PRODUCTS.files)) writeFileSync(join(folder, name), content);
    await close(open());
    chmodSync(folder, 0o755);
    for (const path of [dirname(file), ...PARTS.map((part) => file + part).filter(existsSync)]) {
      chownSync(path, OTHER_USER, OTHER_USER);
    }
    chmodSync(dirname(file), 0o555);
    const error = {
      code: 'ledger.unwritable',
      message: expect.stringContaining(`${dirname(file)} cannot be used: permission denied (EACCES).`),
    };
    for (const [command, found] of Object.entries({
      sync: { error },
      start: { error },
      check: { ledger: { error } },
    })) {
      const { status, stdout } = nodeAsAnotherUser([CLI, command, '-c', configFile, '--json']);
      expect(JSON.parse(stdout), command).toMatchObject({ ok: false, ...found });
      expect(status, command).toBe(3);
    }
  });

  itWithAnotherUser('of another user are named with their owner, to commands that read and to those that write', () => {
    const configFile = join(folder, 'dpp-sync.yaml');
    const config = { target: { baseUrl: TARGET, apiKey: 'dpp_test' }, ledger: file, sources: [PRODUCTS.source] };
    writeFileSync(configFile, JSON.stringify(config));
    for (const [name, content] of Object.entries(PRODUCTS.files)) writeFileSync(join(folder, name), content);
    open();
    for (const modes of ['755', '700']) {
      chmodSync(folder, 0o755);
      chmodSync(dirname(file), Number.parseInt(modes, 8));
      for (const command of ['status', 'sync']) {
        const { status, stdout } = nodeAsAnotherUser([CLI, command, '-c', configFile, '--json']);
        expect(JSON.parse(stdout), `${command} ${modes}`).toMatchObject({
          ok: false,
          error: {
            code: 'ledger.unwritable',
            message: expect.stringMatching(
              new RegExp(`belongs to user 0, and this process runs as user ${OTHER_USER}.*chown ${OTHER_USER}`),
            ),
          },
        });
        expect(status, `${command} ${modes}`).toBe(3);
      }
    }
  });
});

describe('a ledger with a second name', () => {
  const linked = expect.objectContaining({ code: 'ledger.linked', exitCode: 3 });
  const second = () => join(folder, 'second.db');

  it('a ledger with a second name is refused by either name, for reading too, and opens once the second name is gone', async () => {
    await close(open());
    linkSync(file, second());
    for (const path of [file, second()]) {
      expect(() => open(path)).toThrow(linked);
      expect(() => openLedgerReads({ file: path, passportRules: NO_PASSPORTS, forms: FORMS })).toThrow(linked);
    }
    const suggestion = expect.stringContaining(`find FOLDER -samefile ${file}`);
    expect(() => open()).toThrow(expect.objectContaining({ suggestion }));
    rmSync(second());
    open();
  });

  it('a ledger is not written from the moment that it gets a second name', async () => {
    const ledger = open();
    await ledger.touch();
    linkSync(file, second());
    await expect(ledger.touch()).rejects.toMatchObject({
      code: 'ledger.lost',
      exitCode: 3,
      message: `${file} was given a second name (a hard link) while this process worked on it.`,
    });
    rmSync(second());
    expect(ledger.lost()).toMatchObject({ code: 'ledger.lost' });
  });
});

describe('a ledger that changes under its writer', () => {
  const aside = () => join(folder, 'aside');
  const moved: [string, (path: string) => void, RegExp][] = [
    ['is removed', (path) => rmSync(path), /ledger\.db was removed while/],
    ['is moved away', (path) => renameSync(path, aside()), /ledger\.db was removed while/],
    ['loses its log', (path) => rmSync(`${path}-wal`), /ledger\.db-wal was removed while/],
    [
      'is replaced by another file',
      (path) => {
        writeFileSync(aside(), 'other');
        renameSync(aside(), path);
      },
      /ledger\.db was replaced by another file while/,
    ],
    ['is moved away with its folder', (path) => renameSync(dirname(path), aside()), /ledger\.db was removed while/],
  ];

  it.each(moved)(
    'a ledger is written no more when it %s',
    covers('ledger-lost', 'I3', 'I8'),
    async (_, change, message) => {
      const ledger = open();
      await pullAndMap(ledger, [row('A')], () => items(product('A')));
      const [due] = await ledger.dueDeliveries({ afterId: 0, limit: 1 });
      expect(ledger.lost()).toBe(null);
      change(file);
      const lost = { code: 'ledger.lost', exitCode: 3, message: expect.stringMatching(message) };
      await expect(claimOne(ledger, due?.id ?? 0)).rejects.toMatchObject(lost);
      expect(ledger.lost()).toMatchObject(lost);
    },
  );

  it('a ledger is written no more when the link by which it is reached leads elsewhere', async () => {
    await close(open());
    const link = join(folder, 'link.db');
    symlinkSync(file, link);
    const ledger = open(link);
    await ledger.touch();
    rmSync(link);
    symlinkSync(join(folder, 'data/other.db'), link);
    await expect(ledger.touch()).rejects.toMatchObject({ code: 'ledger.lost' });
  });

  it('a removed ledger is missed by the next process', covers('ledger-lost', 'I6', 'I8'), async () => {
    const gone = expect.objectContaining({ code: 'ledger.restored', exitCode: 3 });
    for (const remove of [
      () => {
        for (const part of PARTS) rmSync(file + part);
      },
      () => rmSync(dirname(file), { recursive: true }),
    ]) {
      const ledger = open();
      await ledger.touch();
      remove();
      expect(() => read()).not.toThrow();
      await expect(ledger.touch()).rejects.toMatchObject({ code: 'ledger.lost' });
      expect(modeOf(`${file}.mark`)).toBe('600');
      expect(() => read()).toThrow(gone);
      await close(ledger);
      expect(() => read()).toThrow(gone);
      expect(() => open()).toThrow(gone);
      expect(existsSync(file)).toBe(false);
      // The message says that removing the mark is the way to begin again.
      rmSync(`${file}.mark`);
    }
    open();
  });
});

describe('the identity of a ledger', () => {
  const restored = expect.objectContaining({
    code: 'ledger.restored',
    exitCode: 3,
    suggestion: expect.stringContaining('dpp-sync ledger restore'),
  });
  const meta = (path: string, name: string) => {
    const db = new Database(path, { readonly: true });
    try {
      return db.prepare<[string], string>('SELECT value FROM meta WHERE name = ?').pluck().get(name) ?? null;
    } finally {
      db.close();
    }
  };

  it('the identity of a ledger is in its main file before any send', covers('ledger-lost', 'I8'), () => {
    const { id } = open();
    const bare = crash({ without: ['-wal', '-shm'] });
    expect(meta(bare, 'id')).toBe(id);
    expect(meta(bare, 'epoch')).not.toBe(null);
    expect(meta(bare, 'target')).toBe(TARGET);
    expect(readMark(bare)).toEqual({ ledgerId: id, generation: Number(meta(bare, 'generation')) });
  });

  it(
    'the identity of a ledger distinguishes one that lost its log in its first session from a new one',
    covers('ledger-lost', 'I6', 'I8'),
    async () => {
      const ledger = open();
      // Nothing is lost as long as nothing was committed.
      await close(open(crash({ without: ['-wal', '-shm'] })));
      await pullRows(ledger, { rows: [row('A')] });
      const lost = crash({ without: ['-wal', '-shm'] });
      expect(() => open(lost)).toThrow(restored);
      const profile = Profile.parse({});
      restoreLedger({ file: lost, from: null, target: TARGET, profile, clock: systemClock });
      expect(await open(lost).unprovenKinds()).toEqual(['product', 'material']);
    },
  );

  it('a ledger whose first log was lost has no identity and is missed', covers('ledger-lost', 'I6'), async () => {
    const ledger = open();
    await close(ledger);
    for (const part of ['', '-wal', '-shm']) rmSync(file + part, { force: true });
    // As earlier versions left it behind: the schema without any content.
    openDatabase(file).close();
    expect(() => open()).toThrow(restored);
    expect(() => read()).toThrow(expect.objectContaining({ code: 'ledger.restored' }));
    restoreLedger({ file, from: null, target: TARGET, profile: Profile.parse({}), clock: systemClock });
    const again = open();
    expect(again.id).not.toBe('');
    expect(again.id).not.toBe(ledger.id);
    expect(await again.unprovenKinds()).toEqual(['product', 'material']);
  });

  it('the identity of a ledger is not that of another ledger that was put in its place', async () => {
    await close(open());
    await close(open(join(folder, 'other.db')));
    copyFileSync(join(folder, 'other.db'), file);
    expect(() => open()).toThrow(restored);
    const suggestion = expect.stringContaining(`remove ${file}.mark.`);
    expect(() => open()).toThrow(expect.objectContaining({ suggestion }));
    rmSync(`${file}.mark`);
    open();
  });

  it('a ledger is opened wherever its first opening was cut off', covers('process-killed', 'I8'), async () => {
    const states: (() => void)[] = [
      () => undefined,
      () => writeFileSync(`${file}.lock`, ''),
      () => writeFileSync(file, ''),
      () => openDatabase(file).close(),
      // A ledger with its identity but without a mark; then a mark that is cut off.
      () => rmSync(`${file}.mark`),
      () => writeFileSync(`${file}.mark`, readFileSync(`${file}.mark`).subarray(0, 20)),
    ];
    mkdirSync(dirname(file));
    for (const [at, prepare] of states.entries()) {
      prepare();
      const ledger = open();
      await ledger.touch();
      expect(readMark(file)?.ledgerId, `state ${at}`).toBe(ledger.id);
      await close(ledger);
      if (at < 3) for (const part of PARTS) rmSync(file + part, { force: true });
    }
  });
});
