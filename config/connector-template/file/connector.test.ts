import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectorChecks, fileDamages } from 'dpp-sync/sdk/testing';
import connector from './connector.ts';

const checks = connectorChecks(connector, {
  folder: join(import.meta.dirname, 'fixtures'),
  samples: [{ about: 'three articles, one of them broken', stream: { path: 'articles.txt' }, rows: 3, withIssues: 1 }],
  refused: [{ stream: { path: '' } }, { options: { encoding: 'klingon' }, stream: { path: 'articles.txt' } }],
  unreachable: { stream: { path: 'none.txt' }, names: 'none.txt' },
  async large(rows, folder) {
    const articles = Array.from({ length: rows }, (_, at) => `SKU: A-${at}\nNAME: Article number ${at}\n\n`);
    await writeFile(join(folder, 'large.txt'), articles.join(''));
    return { stream: { path: 'large.txt' }, damages: fileDamages(join(folder, 'large.txt')) };
  },
});

for (const { name, run } of checks) test(name, run);
