import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadBuiltIn } from '../../connectors/index.ts';
import { WITHOUT_NUMBERS } from '../../src/config/cases.ts';
import { type Connector, type FoundColumns, z } from '../../src/sdk/index.ts';
import { connectorChecks } from '../../src/sdk/testing/index.ts';
import { fixturesOf } from '../support/connectors/connector-fixtures.ts';
import { readPages } from '../support/connectors/connector-reader.ts';

// The kit, which authors of other connectors use too, checks the promises of every connector to its host. Each connector of
// this package has `fixtures/samples.json`, which says how to read its fixtures.

const connectors = await loadBuiltIn();
const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'connectors');
const SDK = 'src/sdk/index.ts';

const packages = z
  .object({
    dependencies: z.record(z.string(), z.string()),
    peerDependencies: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
const declared = Object.keys({ ...packages.dependencies, ...packages.peerDependencies });

/** The names of a schema's fields. */
function optionsOf(schema: z.ZodType): string[] {
  return Object.keys(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }).properties ?? {});
}

/** JSON with an empty text in place of each text. */
function withoutTexts(json: string): string {
  return json.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '');
}

it('the registry of connectors lists every folder under connectors/, each once', () => {
  const folders = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(connectors.map((connector) => connector.id).toSorted()).toEqual(folders.map((entry) => entry.name).toSorted());
});

describe.each(connectors.map((connector): [string, Connector] => [connector.id, connector]))(
  'connector %s',
  (id, connector) => {
    const folder = join(FOLDER, id);

    it('each connector has a README and a docs page that mentions every option', () => {
      for (const file of ['README.md', 'index.ts']) expect(readdirSync(folder)).toContain(file);
      const page = readFileSync(join(ROOT, `docs/connectors/${id}.md`), 'utf8');
      for (const name of [...optionsOf(connector.options), ...optionsOf(connector.streamOptions)]) {
        expect(page, `docs page on ${name}`).toContain(`\`${name}\``);
      }
    });

    it('the table of the README names each file of the connector, and no other', () => {
      const rows = readFileSync(join(folder, 'README.md'), 'utf8')
        .split('\n')
        .filter((line) => /^\| `[\w-]+\.ts`/.test(line));
      const named = rows.flatMap((row) =>
        [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, file]) => file),
      );
      const files = readdirSync(folder).filter((name) => name.endsWith('.ts'));
      expect(new Set(named)).toEqual(new Set(files));
    });

    it('each connector imports the SDK, its own folder, node: and declared packages only', () => {
      for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
        for (const specifier of importsOf(join(folder, file))) {
          if (specifier.startsWith('node:')) continue;
          if (!specifier.startsWith('.')) {
            expect(declared).toContain(specifier);
            continue;
          }
          const target = relative(ROOT, resolve(folder, specifier));
          const isAllowed = target === SDK || dirname(target) === join('connectors', id);
          expect(isAllowed, `${file} imports ${specifier}`).toBe(true);
        }
      }
    });

    // Separate suites test connectors whose sources are servers.
    if (id === 'sql' || id === 'rest') return;
    it('a number in a row of a case is refused exactly if the connector gives no numbers', async () => {
      const { samples } = fixturesOf(id);
      let hasNumbers = false;
      for (const { options, stream = {} } of samples) {
        for await (const { rows } of readPages(connector, { folder: join(folder, 'fixtures'), options, stream })) {
          for (const { fields } of rows) hasNumbers ||= /[:[,]-?\d/.test(withoutTexts(JSON.stringify(fields)));
        }
      }
      expect(hasNumbers).toBe(!WITHOUT_NUMBERS.includes(id));
    });

    if (connector.fixedColumns === true)
      it('each connector for tables gives the columns of a file before its rows', async () => {
        const { folder, samples } = fixturesOf(id, 'snapshot');
        for (const { options, stream } of samples) {
          const found = new Map<string | undefined, readonly string[]>();
          const onColumns = ({ names, where }: FoundColumns) => void found.set(where, names);
          for await (const { rows } of readPages(connector, { folder, options, stream: stream ?? {}, onColumns })) {
            for (const { fields, place, issues } of rows) {
              expect(found.has(place.file), place.file).toBe(true);
              if (issues === undefined)
                expect(Object.keys(fields)).toEqual(expect.arrayContaining([...(found.get(place.file) ?? [])]));
            }
          }
        }
      });

    describe.each(['snapshot', 'changes'] as const)('with `contents: %s`', (contents) => {
      for (const { name, run } of connectorChecks(connector, fixturesOf(id, contents))) {
        it(name, run);
      }
    });
  },
);
