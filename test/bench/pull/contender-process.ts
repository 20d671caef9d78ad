// Reads one file once: with the connector and the hashing of a pull, or with the parser alone.

import { incomingRecords } from '../../../src/pipeline/incoming-record.ts';
import { readPages } from '../../support/connectors/connector-reader.ts';
import { FORMATS } from './all-formats.ts';

/** The first argument of the process, as JSON. */
export interface ReadJob {
  format: string;
  folder: string;
  /** The address of the server, for a format that is no file; otherwise empty. */
  base: string;
  contender: 'dpp-sync' | 'bare';
}

export interface ReadResult {
  records: number;
  ms: number;
  peakMb: number;
}

const { format: name, folder, base, contender } = JSON.parse(process.argv[2] ?? '{}') as ReadJob;
const format = FORMATS.find((one) => one.name === name);
if (format === undefined) throw new Error(`there is no format ${name}`);

async function read(of: typeof format & object): Promise<number> {
  if (contender === 'bare') return await of.bare(`${folder}/export`, base);
  let records = 0;
  const nothing = new Set<string>();
  const settings =
    base === ''
      ? { stream: { path: 'export', ...of.stream } }
      : { options: { ...of.options, base }, stream: of.stream, key: ['SKU'] };
  for await (const { rows } of readPages(of.connector, { folder, ...settings })) {
    for (const { hash, issues } of incomingRecords(rows, ['SKU'], nothing))
      if (hash !== '' && issues.length === 0) records++;
  }
  return records;
}

const begun = performance.now();
const records = await read(format);
const ms = performance.now() - begun;
const result: ReadResult = { records, ms, peakMb: process.resourceUsage().maxRSS / 1024 };
process.stdout.write(`${JSON.stringify(result)}\n`);
