// Reads the products of a BMEcat file. Prints their number and the most memory that this process used, in bytes.

import { basename, dirname } from 'node:path';
import { bmecat } from '../../../connectors/bmecat/index.ts';
import { readPages } from '../../support/connectors/connector-reader.ts';
import { peakMemory } from '../../support/machine/peak-memory.ts';

const path = process.argv[2] ?? '';
let products = 0;
let issues = 0;
for await (const page of readPages(bmecat, { folder: dirname(path), stream: { path: basename(path) } })) {
  products += page.rows.length;
  issues += page.rows.filter((row) => row.issues !== undefined).length;
}
process.stdout.write(JSON.stringify({ products, issues, memory: peakMemory() }));
