// Reads the table `pictures` of a database. Prints the number of rows and the most memory that this process used, in
// bytes.

import { sql } from '../../../connectors/sql/index.ts';
import type { JsonObject } from '../../../src/sdk/index.ts';
import { readPages } from '../../support/connectors/connector-reader.ts';
import { peakMemory } from '../../support/machine/peak-memory.ts';

let rows = 0;
const source = {
  folder: '/',
  options: JSON.parse(process.argv[2] ?? '') as JsonObject,
  stream: { query: 'SELECT id, picture FROM pictures', page: ['id'] },
};
for await (const page of readPages(sql, source)) rows += page.rows.length;
process.stdout.write(JSON.stringify({ rows, memory: peakMemory() }));
