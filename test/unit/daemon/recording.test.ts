import { expect, it } from 'vitest';
import { createRecording, type Recording } from '../../../src/daemon/plan/recording.ts';
import type { Page, SourceReader } from '../../../src/domain/ports/source.ts';
import { temporaryFolder } from '../../support/connectors/connector-reader.ts';

const FROM = { mode: 'snapshot', cursor: null } as const;
const never = new AbortController().signal;
const pageOf = (name: string): Page => ({ rows: [{ fields: { name }, place: { file: 'a.csv', line: 2 } }] });

function readerOf(pull: () => AsyncGenerator<Page>): SourceReader {
  return {
    streams: [{ name: 'default', key: ['name'], reads: 'snapshot', pull }],
    acknowledge: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/** The rows that a read gives, and why it has ended. */
async function readAll(reader: SourceReader, max = Number.POSITIVE_INFINITY) {
  const names: unknown[] = [];
  try {
    for await (const { rows } of reader.streams[0]?.pull(FROM, never) ?? []) {
      names.push(...rows.map(({ fields }) => fields['name']));
      if (names.length >= max) return { names, end: 'stopped' };
    }
  } catch (error) {
    return { names, end: error };
  }
  return { names, end: 'end' };
}

async function withRecording(work: (recording: Recording) => Promise<void>): Promise<void> {
  await using folder = await temporaryFolder();
  const recording = await createRecording(folder.path);
  try {
    await work(recording);
  } finally {
    await recording.close();
  }
}

it('gives the rows again, and then the error with which the read has ended', () =>
  withRecording(async (recording) => {
    const broken = new Error('The connection was closed.');
    const reader = readerOf(async function* () {
      yield pageOf('one');
      throw broken;
    });
    const expected = { names: ['one'], end: broken };
    expect(await readAll(await recording.record('erp', () => Promise.resolve(reader)))).toEqual(expected);
    expect(await readAll(recording.replay('erp'))).toEqual(expected);
    expect(recording.failure('erp')).toEqual({ error: broken });
  }));

it('does not end a read that has stopped before its end', () =>
  withRecording(async (recording) => {
    const reader = readerOf(async function* () {
      yield pageOf('one');
      yield pageOf('two');
    });
    await readAll(await recording.record('erp', () => Promise.resolve(reader)), 1);
    const { names, end } = await readAll(recording.replay('erp'));
    expect(names).toEqual(['one']);
    expect(end).toMatchObject({ code: 'plan.stale' });
    expect(recording.failure('erp')).toBeNull();
  }));

it('gives the reason again why a source could not be opened', () =>
  withRecording(async (recording) => {
    const down = new Error('The database does not answer.');
    await expect(recording.record('erp', () => Promise.reject(down))).rejects.toBe(down);
    expect(() => recording.replay('erp')).toThrow(down);
    expect(recording.failure('erp')).toEqual({ error: down });
  }));

it('tells a row from a tombstone, and changes from changes whose position is lost', async () => {
  const [row] = pageOf('one').rows;
  if (row === undefined) throw new Error('The page has no row.');
  const reads: Page[] = [
    { rows: [row] },
    { rows: [{ ...row, isGone: true }] },
    { rows: [] },
    { rows: [], beginAgain: 'The position is lost.' },
  ];
  const contents = new Set<unknown>();
  for (const page of reads) {
    await withRecording(async (recording) => {
      const reader = readerOf(async function* () {
        yield page;
      });
      await readAll(await recording.record('erp', () => Promise.resolve(reader)));
      const again: Page[] = [];
      for await (const one of recording.replay('erp').streams[0]?.pull(FROM, never) ?? []) again.push(one);
      expect(again).toEqual([page]);
      contents.add(recording.contents()['erp/default']);
    });
  }
  expect(contents.size).toBe(reads.length);
});
