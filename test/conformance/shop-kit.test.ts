// The examples of docs/connectors/shops.md as a reader copies them, against servers that do what real systems do to a reader.

import { describe, expect, it } from 'vitest';
import { rest } from '../../connectors/rest/index.ts';
import { type RestFixtures, restChecks, restChecksLeftOut } from '../../src/sdk/testing/index.ts';
import { EXAMPLES, type ExampleFor, SHOPS, sourceOfExample } from '../support/rest/shops.ts';
import { fixturesOf, SIZE } from './support/config-stream.ts';
import { type Failure, failureOf, UNCOUNTED, UNORDERED, WHOLE } from './support/spoilt.ts';

function exampleOf(example: string, stream: string, edit?: ExampleFor['edit']): RestFixtures {
  const shop = SHOPS[example];
  if (shop === undefined) throw new Error(`test/support/rest/shops.ts has no system for the example ${example}.`);
  const source = (base: string) => sourceOfExample(example, { base, size: SIZE, edit });
  const { answer: _, ...api } = shop.api;
  const hasChildren = 'each' in (source('http://127.0.0.1:1').streams[stream] ?? {});
  return fixturesOf({ ...shop, source, stream, api: hasChildren ? shop.api : api });
}

const STREAMS = EXAMPLES.flatMap((example) =>
  Object.keys(sourceOfExample(example, { base: 'http://127.0.0.1:1', size: SIZE }).streams).map(
    (stream) => [example, stream] as const,
  ),
);

// Most of the time they wait to send a request again.
describe('the examples', { concurrent: true }, () => {
  describe.each(STREAMS)('the example of %s, %s', (example, stream) => {
    for (const { name, run } of restChecks(rest, exampleOf(example, stream))) it(name, run);
  });
});

it('each check that does not belong to an example is left out with a reason', () => {
  const leftOut = STREAMS.map(([example, stream]) => [
    `${example}, ${stream}`,
    restChecksLeftOut(exampleOf(example, stream)).map(({ title, reason }) => `${title}: ${reason}`),
  ]);
  expect(Object.fromEntries(leftOut)).toMatchSnapshot();
});

const UNPROVED: Failure = { check: WHOLE, message: /does not show whether it is the last one/ };
const FEWER: Failure = { check: WHOLE, message: /The server has 35 rows, and the read gives 28/ };
const TOO_LATE: Failure = {
  check: /^the changes have each row that has changed since/,
  message: /ends without the changed row/,
};
const NO_OVERLAP: Failure = { ...TOO_LATE, check: /^the changes have a row that has changed before the snapshot/ };

/** What a reader may change in an example, and how a check fails then. */
const SPOILT: [example: string, stream: string, text: string, by: string, failure: Failure][] = [
  ['shopware', 'products', ', sort: [{ field: id, order: ASC }]', '', UNORDERED],
  ['shopware', 'products', ' total-count-mode: 1,', '', UNCOUNTED],
  ['shopware', 'products', 'field: createdAt', 'field: releaseDate', TOO_LATE],
  ['magento', 'products', 'entity_id', 'name', UNORDERED],
  ['magento', 'products', '$.total_count', '$.search_criteria.page_size', UNCOUNTED],
  [
    'magento',
    'products',
    '          format: YYYY-MM-DD hh:mm:ss',
    '          format: YYYY-MM-DD hh:mm:ss\n          overlap: 1s',
    NO_OVERLAP,
  ],
  ['woocommerce', 'products', 'orderby: id', 'orderby: date', UNORDERED],
  ['woocommerce', 'products', 'X-WP-Total', 'X-WP-TotalPages', UNCOUNTED],
  ['woocommerce', 'products', ', dates_are_gmt: "true"', '', TOO_LATE],
  ['plentymarkets', 'items', 'granularity: day\n          overlap: 1d', '', TOO_LATE],
  ['plentymarkets', 'items', 'total: $.totalsCount', 'end: flag, more: $.isLastPage', UNPROVED],
  ['pimcore', 'products', 'sortBy: "id", sortOrder: "ASC", ', '', UNORDERED],
  ['pimcore', 'products', ', published: false', '', FEWER],
];

describe('an example that a reader has spoilt', { concurrent: true }, () => {
  it.each(SPOILT)('the example of %s, %s, fails if %j becomes %j', async (example, stream, text, by, failure) => {
    const fixtures = exampleOf(example, stream, (shown) => {
      if (!shown.includes(text)) throw new Error(`The example has no ${text}.`);
      return shown.replace(text, by);
    });
    expect(await failureOf(fixtures, failure)).toMatch(failure.message);
  });
});
