import { casesFileOf } from '../../config/cases.ts';
import type { MappingsConfig } from '../../config/loaded-config.ts';
import { fault } from '../../domain/faults.ts';
import { formatPlace } from '../../domain/issue.ts';
import type { StoredRecord } from '../../domain/ports/ledger/ledger-views.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import { isKeyedByContent, readableKey } from '../../domain/record.ts';
import { assertSources, readingsOf } from '../../operations/named.ts';
import type { CommandContext } from '../context.ts';
import { printable } from '../text/style.ts';
import { described, nameOfRow, writeCase } from './write-case.ts';

interface Asked {
  key: string;
  /** Undefined for the file beside the config. */
  file: string | undefined;
  source: string | undefined;
  stream: string | undefined;
}

/** Adds a case from a stored row to a file of cases, with what the row becomes now. */
export async function recordCase(
  { key, file: named, source, stream }: Asked,
  context: CommandContext,
): Promise<number> {
  const { output, configFile, secrets } = context;
  const config = await context.loadConfig('ledger');
  if (source !== undefined) assertSources(config, [source]);
  const file = named ?? casesFileOf(configFile);
  const written = await context.withViews(config, async (opened) => {
    if (opened === null) {
      throw fault('item.unknown', `There is no ledger yet, so no row of "${key}" is stored.`, {
        suggestion: 'Run `dpp-sync sync` first, or write the case by hand.',
      });
    }
    const { reads } = opened;
    const record = await storedRow({ key, source, stream }, config, reads);
    const row = { source: record.source, stream: record.stream, row: record.fields };
    const name = nameOfRow(row, isKeyedByContent(record) ? null : record.key, config);
    return writeCase(row, { file, name, config, secrets, read: (keys) => reads.lookupEntries(keys) });
  });
  if ('known' in written) {
    const { known } = written;
    throw fault('usage', `The case "${known.name}" has this row already (${file}:${known.line}).`, {
      suggestion: 'Run it with `dpp-sync test`. To record the row again, first delete the case.',
    });
  }
  const { line, name, expect } = written;
  if (output.json) output.document({ ok: true, file, line, name, expect });
  output.print(
    `${output.paint('green', '✓')} wrote the case "${printable(name)}" to ${printable(file)}:${line}.`,
    `  ${printable(described(expect))}`,
  );
  return 0;
}

/**
 * The stored row that a person names.
 *
 * @throws Fault `item.unknown` if there is none, or if there are several; `usage` for a row of which no case can be made
 */
async function storedRow(
  { key, source, stream }: Omit<Asked, 'file'>,
  config: MappingsConfig,
  reads: Reads,
): Promise<StoredRecord> {
  const record = await namedRow({ key, source, stream }, reads);
  const configured = config.sources.find(({ id }) => id === record.source);
  if (configured?.mappings.some((mapping) => mapping.stream === record.stream) !== true) {
    throw fault('usage', `No mapping of the config uses the stream ${record.source}/${record.stream} of the row.`, {
      suggestion: 'Name a row of another stream, or add a mapping for the stream.',
    });
  }
  const [issue] = record.issues;
  if (issue === undefined) return record;
  throw fault('usage', `The connector could not read the row (${formatPlace(record.place)}): ${issue.message}`, {
    suggestion: 'Name a row that was read. A case gives a row as it was read.',
  });
}

async function namedRow({ key, source, stream }: Omit<Asked, 'file'>, reads: Reads): Promise<StoredRecord> {
  for (const name of readingsOf(key)) {
    const [record, ...others] = await reads.recordsNamed({ name, source, stream });
    if (record === undefined) continue;
    if (others.length === 0) return record;
    const rows = [record, ...others].map(
      (one) => `${one.source}/${one.stream} ${readableKey(one.key)} (${formatPlace(one.place)})`,
    );
    throw fault('item.unknown', `Several rows fit "${key}": ${rows.join('; ')}.`, {
      suggestion: 'Name one of them by its own key, with --stream or --source.',
    });
  }
  const within = [source, stream].filter((name) => name !== undefined).join('/');
  throw fault('item.unknown', `No stored row${within === '' ? '' : ` of ${within}`} fits "${key}".`, {
    suggestion:
      'Search the items with `dpp-sync items --search TEXT`, and rows with an error with `dpp-sync quarantine`.',
  });
}
