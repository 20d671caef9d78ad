import { describe, expect, it } from 'vitest';
import { BUILT_IN } from '../../../connectors/index.ts';
import { problemsOf } from '../../../src/config/problem.ts';
import { faultOf } from '../../support/worlds/config-folder.ts';

const TARGET = 'target:\n  baseUrl: https://dpp.example.com\n  apiKey: dpp_0123456789abcdef\n';
const MAPPING = 'to: product, key: row.SKU, fields: { sku: row.SKU, name: row.NAME, status: \'"DRAFT"\' }';

/** The problems of a source with a correct CSV stream and this stream, in their order. */
async function problemsWith(connector: string, stream: object) {
  const streams = { sound: { path: './sound', ...(connector === 'xml' ? { at: '/A/B' } : {}) }, moved: stream };
  const source = `  - id: erp\n    connector: ${connector}\n    streams: ${JSON.stringify(streams)}\n`;
  const mappings = `    mappings:\n      - { stream: sound, ${MAPPING} }\n      - { stream: moved, ${MAPPING} }\n`;
  return problemsOf(await faultOf(`${TARGET}sources:\n${source}${mappings}`));
}

const MOVE = 'Move the stream and its mappings into a source of its own, with its own `id` and with';

describe('a stream in a source of another connector', () => {
  it('a stream of a workbook in a source of CSV is named with its connector before the option that does not fit', async () => {
    expect(await problemsWith('csv', { path: './Materialien.XLSX', header: 3 })).toMatchObject([
      {
        path: 'sources[0].streams.moved',
        message:
          'This stream is probably for the connector xlsx, because its file name ends in .xlsx. Its source has the connector csv.',
        cure: `${MOVE} \`connector: xlsx\`.`,
      },
      { path: 'sources[0].streams.moved.header', message: 'found 3, expected true or false' },
    ]);
  });

  it('each ending of a built-in connector names this connector in a source of each connector without the ending', async () => {
    const connectors = await Promise.all(Object.values(BUILT_IN).map((load) => load()));
    const endings = new Set(connectors.flatMap((connector) => connector.endings ?? []));
    expect(endings).toContain('.xlsx');
    for (const own of connectors) {
      for (const ending of endings) {
        const isOwn = own.endings?.includes(ending) === true;
        for (const path of [
          `./a${ending}`,
          `sftp://u@files.example.com/a${ending}.gz`,
          `https://a.example/a${ending}?t=1`,
        ]) {
          const problems = await problemsWith(own.id, { path, unheardOf: 1 });
          const first = problems.find((problem) => problem.path.startsWith('sources[0].streams.moved'));
          const of = connectors.filter((other) => other.endings?.includes(ending)).map(({ id }) => id);
          if (isOwn) expect(first?.message, `${own.id} ${path}`).not.toContain('This stream is probably for');
          else for (const id of of) expect(first?.cure, `${own.id} ${path}`).toMatch(new RegExp(`^Move .*\\b${id}\\b`));
        }
      }
    }
  });

  it.each([
    ['csv', { path: './export/*', sheet: 'Parts' }, 'xlsx', 'which takes its `sheet`'],
    ['csv', { path: './export/*', header: 3 }, 'xlsx', 'which takes its `header`'],
    [
      'xlsx',
      { path: './export/*', delimiter: ';', skipLines: 2 },
      'csv',
      'which takes its `delimiter` and `skipLines`',
    ],
    ['csv', { path: './export.zip', entry: '*.json', at: '$' }, 'json', 'because its file name ends in .json'],
    ['csv', { path: './export.xml', at: '/A/B' }, 'xml', 'because its file name ends in .xml'],
    ['csv', { path: './export.xml', segment: 'E1MARAM' }, 'sap-idoc', 'because its file name ends in .xml'],
  ])('in a source of %s the stream %j is for the connector %s, %s', async (own, stream, id, reason) => {
    const [first] = await problemsWith(own, stream);
    expect(first?.message).toBe(
      `This stream is probably for the connector ${id}, ${reason}. Its source has the connector ${own}.`,
    );
  });

  it.each([
    ['csv', { path: './a.csv', header: 3 }],
    ['csv', { path: './a.txt', sheet: 'Parts' }],
    ['csv', { path: './export/*', heder: true }],
    ['xlsx', { path: './a.xlsx', delimiter: ';' }],
  ])('in a source of %s a wrong option of the stream %j says nothing of another connector', async (own, stream) => {
    expect(await problemsWith(own, stream)).toMatchObject([
      { path: expect.stringMatching(/^sources\[0\]\.streams\.moved\./) },
    ]);
  });

  it('a source with one file for another connector is told to write that connector', async () => {
    const source = `  - id: erp\n    connector: csv\n    options: { path: ./a.xlsx, sheet: Parts }\n    mappings: [{ ${MAPPING} }]\n`;
    expect(problemsOf(await faultOf(`${TARGET}sources:\n${source}`))).toMatchObject([
      { path: 'sources[0].options', cure: 'Use `connector: xlsx`.' },
      { path: 'sources[0].options.sheet' },
    ]);
  });
});
