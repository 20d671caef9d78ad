// Unknown keys where the value of another key decides which keys there are.

import { expect, it } from 'vitest';
import { problemsOf } from '../../../src/config/problem.ts';
import { faultOf } from '../../support/worlds/config-folder.ts';

/** The problems at `page` of a stream. */
async function problemsOfPage(page: string) {
  const text = `target: { baseUrl: https://dpp.example.com, apiKey: dpp_0123456789abcdef }
sources:
  - id: erp
    connector: rest
    options: { base: https://erp.example.com }
    streams: { items: { get: items, page: ${page}, key: [id] } }
    mappings: [{ stream: items, to: product, key: row.id, fields: { sku: row.id, name: row.id } }]
`;
  return problemsOf(await faultOf(text)).map(({ path, message, cure }) => [path.split('.').at(-1), message, cure]);
}

it('an unknown key is compared with the keys of the kind that is written, so it never suggests itself', async () => {
  expect(await problemsOfPage('{ by: none, next: $.next }')).toEqual([
    ['next', 'found an unknown key, expected one of by, size, total', undefined],
  ]);
  expect(await problemsOfPage('{ by: none, siez: 5 }')).toEqual([
    ['siez', 'found an unknown key, expected one of by, size, total', 'Did you mean size?'],
  ]);
});

it.each(['', 'none'])('a value in place of the kinds of values is answered with the kinds: "%s"', async (page) => {
  const [problem] = await problemsOfPage(page);
  expect(problem?.[1]).toMatch(/expected named values whose by is one of none, nextLink, header, cursor, .*, bulkJob$/);
});
