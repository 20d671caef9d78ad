import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { addLogFields, createLogger, type Logger, withLogFields } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { PRODUCTS, runSource, startDaemon } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

interface Line {
  msg: string;
  [field: string]: unknown;
}

function recording(): { lines: Line[]; log: Logger } {
  const lines: Line[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Line);
  return { lines, log: createLogger({ level: 'debug', secrets: createSecretStore(), write }) };
}

describe('the lines of the log', () => {
  let world: World | null = null;
  afterEach(async () => {
    await world?.remove();
    world = null;
  });

  it('the lines of the log have source and run where they are about a run, and kind and key where they are about an item', async () => {
    const files = (source: string) => ({ [`${source}/products.csv`]: PRODUCTS.files['products.csv'] });
    const source = (id: string) => ({
      ...PRODUCTS.source,
      id,
      options: { path: `./${id}/products.csv`, key: ['SKU'], after: 'archive', archive: `./${id}/archive` },
      mappings: [{ ...PRODUCTS.source.mappings[0], key: `"${id}-" + row.SKU` }],
    });
    world = await createWorld({
      config: { sources: [source('erp'), source('pim'), source('gone')] },
      files: { 'status.csv': PRODUCTS.files['status.csv'], ...files('erp'), ...files('pim') },
    });
    const { lines, log } = recording();
    const { daemon } = await startDaemon(world, { log });
    const SOON = { timeout: WAIT_MS };
    // Both sources run at once, so that a defect could give the lines of one run the fields of the other.
    await Promise.all([daemon.startRun('erp', 'schedule'), daemon.startRun('pim', 'schedule')]);
    await expect.poll(async () => (await daemon.runtime.reads.itemCounts()).product.rejected, SOON).toBeGreaterThan(0);
    await expect.poll(() => lines.filter(({ msg }) => msg.startsWith('The run of')).length, SOON).toBe(2);
    await daemon.startRun('gone', 'schedule');
    await expect.poll(() => lines.some(({ msg }) => msg.includes('could not be pulled')), SOON).toBe(true);
    await daemon.stop();

    const about = (text: string) => lines.filter(({ msg }) => msg.includes(text));
    for (const id of ['erp', 'pim']) {
      const [run] = daemonRuns(lines, id);
      expect(run, id).toEqual(expect.any(Number));
      // The connector's own lines know nothing of the source: they get it from the run.
      const archived = about(`${id}/archive`).concat(about(`${id}/products.csv was read`));
      expect(archived.length, id).toBeGreaterThan(0);
      for (const line of archived) expect(line).toMatchObject({ source: id, run });
    }
    const ofSources = lines.filter(
      (line) => /\b(erp|pim|gone)\b/.test(line.msg) && !('kind' in line) && !line.msg.startsWith('The daemon works on'),
    );
    expect(ofSources.length).toBeGreaterThan(6);
    for (const line of ofSources) {
      expect(line['source'], line.msg).toMatch(/^(erp|pim|gone)$/);
      expect(line.msg).toContain(String(line['source']));
    }
    const settled = lines.filter(({ msg }) => msg.startsWith('The product.'));
    expect(settled.length).toBeGreaterThan(1);
    for (const line of settled) {
      expect(line).toMatchObject({
        kind: 'product',
        key: expect.stringMatching(/^(erp|pim)-A-[12]$/),
        state: expect.any(String),
      });
    }
  });

  it('the line of a run says how many rows of its source have an error now, besides those that the run has mapped', async () => {
    const source = {
      ...PRODUCTS.source,
      options: { path: './products.csv', key: ['LINE'] },
      mappings: [{ ...PRODUCTS.source.mappings[0], fields: { sku: 'row.SKU', name: 'row.NAME', status: '"DRAFT"' } }],
    };
    const rows = (name: string) => `LINE,SKU,NAME\n1,A-1,${name}\n2,A-1,Kettle\n3,A-2,Toaster\n`;
    world = await createWorld({ config: { sources: [source] }, files: { 'products.csv': rows('Kettle') } });
    const { lines, log } = recording();
    const { daemon } = await startDaemon(world, { log });
    const lineOf = async (file: string) => {
      world?.write('products.csv', file);
      const ended = () => lines.filter(({ msg }) => msg.startsWith('The run of erp is'));
      const before = ended().length;
      await runSource(daemon, 'erp');
      await expect.poll(() => ended().length, { timeout: WAIT_MS }).toBe(before + 1);
      return ended().at(-1);
    };
    expect((await lineOf(rows('Kettle')))?.msg).toBe(
      'The run of erp is complete: 3 rows read, 0 unchanged, 3 changed, 0 with an error. 0 rows of erp have an error now.',
    );
    // Row 2 is unchanged. It makes the product of row 1 with a name that row 1 no longer has. It is mapped after the run.
    expect((await lineOf(rows('Teapot')))?.msg).toMatch(
      /^The run of erp is complete: 3 rows read, 2 unchanged, 1 changed, 0 with an error\. (?:1 row of erp has an error now\.|\d rows? of erp (?:has|have) an error now\. Some rows of erp are not mapped yet\.)$/,
    );
    await expect.poll(() => daemon.runtime.reads.quarantinedCount(['erp']), { timeout: WAIT_MS }).toBe(1);
    expect(await lineOf(rows('Teapot'))).toMatchObject({
      msg: 'The run of erp is complete: 3 rows read, 3 unchanged, 0 changed, 0 with an error. 1 row of erp has an error now.',
      quarantined: 0,
      inQuarantine: 1,
    });
    expect((await lineOf('LINE,SKU,NAME\n1,A-1,Teapot\n'))?.msg).toBe(
      'The run of erp is complete: 1 row read, 1 unchanged, 0 changed, 0 with an error, 2 missing. 0 rows of erp have an error now.',
    );
    await daemon.stop();
  });

  it('the lines of concurrent work keep their fields apart, and take fields that become known later', async () => {
    const { lines, log } = recording();
    const gate = Promise.withResolvers<void>();
    const work = (source: string, run: number) =>
      withLogFields({ source }, async () => {
        log.info({}, 'begun');
        await withLogFields({ source }, async () => {
          addLogFields({ run });
          await gate.promise;
          log.info({ run: 'own' }, 'within');
        });
        log.info({ kind: 'product', key: 'A-1' }, 'ended');
      });
    const both = Promise.all([work('erp', 1), work('pim', 2)]);
    gate.resolve();
    await both;
    log.info({}, 'outside');
    addLogFields({ run: 3 });
    const fields = lines.map(({ msg, source, run, kind, key }) =>
      [msg, source, run, kind, key].filter((one) => one !== undefined),
    );
    expect(fields).toEqual([
      ['begun', 'erp'],
      ['begun', 'pim'],
      ['within', 'erp', 'own'],
      ['within', 'pim', 'own'],
      ['ended', 'erp', 1, 'product', 'A-1'],
      ['ended', 'pim', 2, 'product', 'A-1'],
      ['outside'],
    ]);
  });
});

/** The runs of a source that have ended, by their log lines. */
function daemonRuns(lines: readonly Line[], source: string): unknown[] {
  return lines.filter(({ msg }) => msg.startsWith(`The run of ${source} is`)).map(({ run }) => run);
}

it('a daemon that cannot start says so in a line of JSON, where no terminal shows its log', async () => {
  const failed = await runHere(['start', '-c', join(import.meta.dirname, 'no such config.yaml')]);
  expect(failed.exitCode).toBe(2);
  expect(JSON.parse(failed.stderr)).toMatchObject({
    level: 50,
    msg: expect.stringMatching(/^There is no config file: .*\n {2}Name the config with -c FILE/s),
  });
});
