// Reads a table of a SQLite file and prints how many rows there are and the most memory that this process had, in bytes.

import { dirname } from 'node:path';
import { sql } from '../../connectors/sql/index.ts';
import { readPages } from './connector-reader.ts';

const file = process.argv[2] ?? '';
let rows = 0;
const source = {
  folder: dirname(file),
  options: { dialect: 'sqlite', file },
  stream: { query: 'SELECT id, picture FROM pictures', page: ['id'] },
};
for await (const page of readPages(sql, source)) rows += page.rows.length;
process.stdout.write(JSON.stringify({ rows, memory: process.resourceUsage().maxRSS * 1024 }));
