// The streams of the presets for REST APIs, against servers that do what real systems do to a reader.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rest } from '../../connectors/rest/index.ts';
import { isJsonObject, type JsonValue } from '../../src/sdk/index.ts';
import { type RestFixtures, restChecks, restChecksLeftOut } from '../../src/sdk/testing/index.ts';
import { type PresetSource, sourcesIn, textOfPreset } from '../support/rest/preset-world.ts';
import { REPOSITORY } from '../support/worlds/config-folder.ts';
import { fixturesOf, SIZE } from './support/config-stream.ts';
import { PRESETS } from './support/preset-streams.ts';
import { type Failure, failureOf, UNCOUNTED, UNORDERED, WHOLE } from './support/spoilt.ts';

const ANYWHERE = 'http://127.0.0.1:1';

type Edit = (text: string) => string;
const same: Edit = (text) => text;

function sourceOf(preset: string, base: string, edit: Edit): PresetSource {
  const [source] = sourcesIn(edit(textOfPreset(preset)), { env: PRESETS[preset]?.env(base) ?? {}, size: SIZE });
  if (source === undefined) throw new Error(`The preset ${preset} has no source.`);
  const { options } = source;
  const auth = options['auth'];
  if (isJsonObject(auth) && auth['by'] === 'oauth2') auth['tokenUrl'] = `${base}/token`;
  // The address of a preset may be that of the system itself.
  options['base'] = addressHere(options['base'], base);
  return source;
}

function addressHere(address: JsonValue | undefined, base: string): string {
  const { pathname } = new URL(typeof address === 'string' ? address : base);
  return `${base}${pathname === '/' ? '' : pathname}`;
}

const NAMES = readdirSync(join(REPOSITORY, 'config/presets'))
  .map((file) => file.replace('.yaml', ''))
  .filter((preset) => textOfPreset(preset).includes('connector: rest'));

function fixturesOfPreset(preset: string, stream: string, edit = same): RestFixtures {
  const described = PRESETS[preset]?.streams[stream];
  if (described === undefined)
    throw new Error(`test/conformance/support/preset-streams.ts lacks ${preset}, ${stream}.`);
  return fixturesOf({ ...described, stream, source: (base) => sourceOf(preset, base, edit) });
}

const STREAMS = NAMES.flatMap((preset) =>
  Object.keys(sourceOf(preset, ANYWHERE, same).streams).map((stream) => [preset, stream] as const),
);

// Most of the time they wait to send a request again.
describe('the presets', { concurrent: true }, () => {
  describe.each(STREAMS)('the preset %s, %s', (preset, stream) => {
    for (const { name, run } of restChecks(rest, fixturesOfPreset(preset, stream))) it(name, run);
  });
});

it('each check that does not belong to a stream of a preset is left out with a reason', () => {
  const leftOut = STREAMS.map(([preset, stream]) => [
    `${preset}, ${stream}`,
    restChecksLeftOut(fixturesOfPreset(preset, stream)).map(({ title, reason }) => `${title}: ${reason}`),
  ]);
  expect(Object.fromEntries(leftOut)).toMatchSnapshot();
});

const SKIPPED: Failure = { check: /: a row that was read disappears, and/, message: /ends as complete, and lacks/ };
const CUT: Failure = { check: /: the file of the job lacks/, message: /ends as complete, with 33 rows in place of 35/ };
const NO_ROWS: Failure = { check: WHOLE, message: /the read gives 0/ };
const NO_TOMBSTONES: Failure = { check: /^the changes say that a record is gone/, message: /have 0 tombstones/ };

/** What a change of a preset would break, and how a check shows it. */
const SPOILT: [preset: string, stream: string, text: RegExp, by: string, failure: Failure][] = [
  ['business-central', 'bomLines', /query: \{ \$count: "true" \}/g, '', UNCOUNTED],
  ['business-central', 'bomLines', /, countsRows: true/g, '', SKIPPED],
  ['business-central', 'items', /gone: \{.*\}/, '', NO_TOMBSTONES],
  ['erpnext', 'boms', /order_by: .*/g, '', UNORDERED],
  ['odoo', 'bills', /order: id/g, '', UNORDERED],
  ['odoo-rpc', 'lines', /order: id/g, '', UNORDERED],
  ['sap-odata-v2', 'boms', /\$orderby: .*/g, '', UNORDERED],
  ['sap-odata-v4', 'boms', /\$inlinecount: .*/g, '', UNCOUNTED],
  ['shopify', 'products', /count: .*objectCount/g, '', CUT],
  ['shopify', 'bundles', /children: true/, '', NO_ROWS],
];

describe('a preset that was spoilt', { concurrent: true }, () => {
  it.each(SPOILT)('the preset %s, %s, fails without %s', async (preset, stream, text, by, failure) => {
    const fixtures = fixturesOfPreset(preset, stream, (shown) => {
      if (shown.search(text) === -1) throw new Error(`The preset has no ${text.source}.`);
      return shown.replace(text, by);
    });
    expect(await failureOf(fixtures, failure)).toMatch(failure.message);
  });
});
