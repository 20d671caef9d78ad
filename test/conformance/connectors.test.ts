import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadBuiltIn } from '../../connectors/index.ts';
import { Fault } from '../../src/lib/errors.ts';
import { type Connector, PAGE_ROWS_MAX, z } from '../../src/sdk/index.ts';
import {
  fixtureFolder,
  probe,
  readPages,
  readRows,
  type SourceSetup,
  temporaryFolder,
  textOf,
} from '../support/connector-reader.ts';

// What every connector owes its host. Each brings `fixtures/samples.json`, which says how its own fixtures are read.

const connectors = await loadBuiltIn();
const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'connectors');
const SDK = 'src/sdk/index.ts';

const Samples = z
  .array(
    z.strictObject({
      about: z.string(),
      options: z.record(z.string(), z.json()),
      stream: z.record(z.string(), z.json()),
      rows: z.int(),
      withIssues: z.int(),
    }),
  )
  .min(1);

const declared = Object.keys(
  z
    .object({ dependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))).dependencies,
);

function samplesOf(id: string): (SourceSetup & z.infer<typeof Samples>[number])[] {
  const samples = Samples.parse(JSON.parse(readFileSync(join(fixtureFolder(id), 'samples.json'), 'utf8')));
  return samples.map((sample) => ({ ...sample, folder: fixtureFolder(id) }));
}

/** Names and descriptions of a schema's fields, as the reference documentation and the JSON Schema show them. */
function optionsOf(schema: z.ZodType): Map<string, string | undefined> {
  const document = z
    .object({ properties: z.record(z.string(), z.looseObject({ description: z.string().optional() })) })
    .parse(z.toJSONSchema(schema, { io: 'input' }));
  return new Map(Object.entries(document.properties).map(([name, property]) => [name, property.description]));
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
}

async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Fault)) throw new Error('A Fault was expected.', { cause: error });
  return error;
}

it('lists every folder under connectors/, each once', () => {
  const folders = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(connectors.map((connector) => connector.id).toSorted()).toEqual(folders.map((entry) => entry.name).toSorted());
});

describe.each(connectors.map((connector): [string, Connector] => [connector.id, connector]))(
  'connector %s',
  (id, connector) => {
    const folder = join(FOLDER, id);
    const samples = samplesOf(id);

    it('has an id, a title, a README, a schema and a docs page', () => {
      expect(id).toMatch(/^[a-z][a-z0-9-]*$/);
      expect(connector.title).not.toBe('');
      for (const file of ['README.md', 'schema.ts', 'index.ts']) expect(readdirSync(folder)).toContain(file);
      expect(readdirSync(join(ROOT, 'docs/connectors'))).toContain(`${id}.md`);
    });

    it('describes every option, and its docs page mentions each', () => {
      const page = readFileSync(join(ROOT, `docs/connectors/${id}.md`), 'utf8');
      for (const [name, description] of [...optionsOf(connector.options), ...optionsOf(connector.streamOptions)]) {
        expect(description ?? '', `description of ${name}`).toMatch(/\.$/);
        expect(page, `docs page on ${name}`).toContain(`\`${name}\``);
      }
    });

    it('refuses an option that it does not know', () => {
      expect(connector.options.safeParse({ delimeter: ';' }).success).toBe(false);
      expect(connector.streamOptions.safeParse({ ...samples[0]?.stream, delimeter: ';' }).success).toBe(false);
    });

    it('imports the SDK, its own folder, node: and declared packages only', () => {
      for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
        for (const specifier of importsOf(join(folder, file))) {
          if (specifier.startsWith('node:')) continue;
          if (!specifier.startsWith('.')) {
            expect(declared).toContain(specifier);
            continue;
          }
          const target = relative(ROOT, resolve(folder, specifier));
          expect(target === SDK || dirname(target) === join('connectors', id), `${file} imports ${specifier}`).toBe(
            true,
          );
        }
      }
    });

    describe.each(samples.map((sample): [string, typeof sample] => [sample.about, sample]))(
      'reading %s',
      (_about, sample) => {
        it('gives the rows that are there, good and bad', async () => {
          const rows = await readRows(connector, sample);
          expect(rows).toHaveLength(sample.rows);
          expect(rows.filter((row) => row.issues !== undefined)).toHaveLength(sample.withIssues);
          for (const issue of rows.flatMap((row) => row.issues ?? [])) {
            expect(issue.code).toMatch(/^[a-z]+\.[a-z_]+$/);
            expect(issue.message).toMatch(/^[A-Z].*\.$/s);
          }
        });

        it('gives pages within the bound, and progress that ends at the total', async () => {
          let last: { done: number; total: number } | undefined;
          for await (const page of readPages(connector, sample)) {
            expect(page.rows.length).toBeGreaterThan(0);
            expect(page.rows.length).toBeLessThanOrEqual(PAGE_ROWS_MAX);
            if (page.progress !== undefined && last !== undefined) {
              expect(page.progress.done).toBeGreaterThanOrEqual(last.done);
            }
            last = page.progress;
          }
          if (last !== undefined) expect(last.done).toBe(last.total);
        });

        it('says of every row where it stands', async () => {
          for (const { place } of await readRows(connector, sample)) {
            expect(place.file).toBeTruthy();
            expect(place.line ?? place.path).toBeTruthy();
          }
        });

        it('gives the same rows in the same order when it reads again', async () => {
          expect(await readRows(connector, sample)).toEqual(await readRows(connector, sample));
        });

        it('gives fields that survive a round trip through JSON', async () => {
          for (const { fields } of await readRows(connector, sample))
            expect(JSON.parse(JSON.stringify(fields))).toEqual(fields);
        });

        it('says in one line what is there', async () => {
          expect(await probe(connector, sample)).toMatch(/^\S[^\n]+\S$/);
        });

        it('stops when the signal is aborted', async () => {
          const reason = new Error('stopped by the test');
          await expect(readRows(connector, { ...sample, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
          await expect(probe(connector, { ...sample, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
        });

        it('reports a source that is missing, naming what it looked for', async () => {
          await using empty = await temporaryFolder();
          for (const attempt of [readRows, probe]) {
            const error = await faultOf(attempt(connector, { ...sample, folder: empty.path }));
            expect(error.code).toBe('source.unreadable');
            expect(error.message).toContain(textOf(sample.stream['path']));
            expect(error.suggestion).toMatch(/\.$/);
          }
        });
      },
    );
  },
);
