// Pulls a source into the ledger world of a folder, and kills itself with SIGKILL after it has stored one page and
// before it stores the next one. Prints "complete" if it has read everything: `node killed-pull-child.ts FOLDER
// CONNECTOR SETTINGS KEY`.

import { resolve } from 'node:path';
import { BUILT_IN } from '../../../connectors/index.ts';
import type { JsonObject } from '../../../src/sdk/index.ts';
import { createPageWorld, mapperOf } from '../../support/worlds/page-world.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const [folder = '', id = '', settings = '{}', key = ''] = process.argv.slice(2);
const { options: given, stream: givenStream } = JSON.parse(settings) as { options?: JsonObject; stream?: JsonObject };
const connector = await BUILT_IN[id]?.();
if (connector === undefined) throw new Error(`There is no connector ${id}.`);

const options = connector.options.parse(given ?? {});
const stream = connector.streamOptions.parse(givenStream ?? {});
const host = { resolvePath: (path: string) => resolve(folder, path), log: SILENT };
let stored = 0;
const world = await createPageWorld({
  folder,
  aroundLedger: (ledger) => ({
    ...ledger,
    async stagePage(page) {
      if (stored === 1) process.kill(process.pid, 'SIGKILL');
      const result = await ledger.stagePage(page);
      stored += 1;
      return result;
    },
  }),
});
const source = await connector.open(options, host);
const { result } = await world.pull({
  key: [key],
  reads: connector.reads(options, stream),
  mapper: mapperOf('r1', () => ({ status: 'excluded' })),
  pages: (from) =>
    source.pull({ name: 'default', key: [key], options: stream, ...from, signal: new AbortController().signal }),
});
await source.close();
await world.close();
process.stdout.write(result);
