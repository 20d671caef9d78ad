import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type JsonObject, z } from '../../src/sdk/index.ts';
import { type ConnectorFixtures, fileDamages } from '../../src/sdk/testing/index.ts';
import { fixtureFolder, textOf } from './connector-reader.ts';

const Settings = z.strictObject({
  about: z.string(),
  options: z.record(z.string(), z.json()),
  stream: z.record(z.string(), z.json()),
});

const Samples = z
  .tuple([Settings.extend({ rows: z.int(), withIssues: z.int() })])
  .rest(Settings.extend({ rows: z.int(), withIssues: z.int() }));

interface LargeExport {
  options?: JsonObject;
  stream: JsonObject & { path: string };
  text(rows: number): string;
}

const numbered = (count: number, row: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => row(at + 1));

/** A large export for every connector that reads files. */
const LARGE: Record<string, LargeExport> = {
  csv: {
    stream: { path: 'large.csv' },
    text: (rows) => `id,name\n${numbered(rows, (at) => `${at},${PADDING} ${at}\n`).join('')}`,
  },
  json: {
    stream: { path: 'large.json' },
    text: (rows) => `[${numbered(rows, (at) => JSON.stringify({ id: at, name: `${PADDING} ${at}` })).join(',\n')}]`,
  },
};
const PADDING = 'A part with a name of some length';

/** What the conformance kit needs for a connector of this package: its own fixtures, and a large export. */
export function fixturesOf(id: string, contents: 'snapshot' | 'changes' = 'snapshot'): ConnectorFixtures {
  const folder = fixtureFolder(id);
  const [first, ...others] = Samples.parse(JSON.parse(readFileSync(join(folder, 'samples.json'), 'utf8')));
  const large = LARGE[id];
  if (large === undefined) throw new Error(`There is no large export for the connector ${id}.`);
  const withContents = <Sample extends { stream: JsonObject }>(sample: Sample): Sample => ({
    ...sample,
    stream: { ...sample.stream, contents },
  });
  const missing = `missing-${textOf(first.stream['path'])}`;
  return {
    folder,
    samples: [withContents(first), ...others.map(withContents)],
    refused: [
      { options: first.options, stream: { ...first.stream, path: '' } },
      { options: first.options, stream: { ...first.stream, files: 'some' } },
    ],
    unreachable: withContents({ options: first.options, stream: { ...first.stream, path: missing }, names: missing }),
    async large(rows, at) {
      const path = join(at, large.stream.path);
      await writeFile(path, large.text(rows));
      return { ...withContents(large), damages: fileDamages(path) };
    },
  };
}
