import type { MappingsConfig } from '../../config/loaded-config.ts';
import { createRowEntries, type LookupEntry, rowsOfEntry } from '../../domain/lookup.ts';
import type { MappableRecord, Mapper, MapResult } from '../../domain/mapping.ts';
import type { GivenRow } from '../../domain/mapping-case.ts';
import type { JsonObject } from '../../lib/json.ts';
import { mappableRow } from '../../pipeline/incoming-record.ts';
import { mapRecords, type ReadEntries } from '../../pipeline/map-records.ts';
import { createMappers } from '../sources/mappers.ts';

/**
 * The mappings of these sources, for rows that are given. Nothing is opened and nothing is stored: neither a source nor the
 * ledger nor the platform is needed.
 *
 * @throws Fault `mapping.invalid` with all problems of the mappings
 */
export async function createCaseMappers(config: MappingsConfig, sources: readonly string[]) {
  const { folder: baseDir, profile } = config;
  const wanted = config.sources.filter(({ id }) => sources.includes(id));
  const compiled = await createMappers({ sources: () => config.sources, baseDir, profile }).compile(wanted);

  function prepare({ source: id, stream: name, row }: Omit<GivenRow, 'lookups'>): {
    record: MappableRecord;
    mapper: Mapper;
  } {
    const source = wanted.find((one) => one.id === id);
    const stream = source?.streams.find((one) => one.name === name);
    const mapper = compiled.get(id);
    if (source === undefined || stream === undefined || mapper === undefined)
      throw new Error(`There is no stream ${id}/${name}.`);
    const of = { source: id, stream: name, key: stream.key, omitted: new Set(source.omit) };
    return { record: mappableRow({ fields: row, place: {} }, of), mapper };
  }

  return {
    /** The mappings by source. */
    bySource: compiled as ReadonlyMap<string, Mapper>,
    /** Maps the row of a case. `missing`: the tables over streams that it looks up and that the case does not give, by name. */
    map({ lookups, ...row }: GivenRow): { result: MapResult; missing: string[] } {
      const { record, mapper } = prepare(row);
      const entries = createRowEntries();
      const tables = (mapper.lookups ?? []).filter(({ stream }) => stream !== null);
      for (const table of tables) for (const fields of lookups[table.name] ?? []) entries.add(table, fields);
      const result = mapper.map(record, entries.find);
      const used = new Set(result.uses?.map(({ table }) => table));
      const missing = tables.filter(({ id, name }) => used.has(id) && !Object.hasOwn(lookups, name));
      return { result, missing: missing.map(({ name }) => name) };
    },
    /**
     * Maps a row with the entries that `read` gives. Returns the result, and the row as a case gives it: without the columns
     * that are never stored, and with the rows of the entries that it has looked up.
     */
    async record(row: Omit<GivenRow, 'lookups'>, read: ReadEntries): Promise<{ given: GivenRow; result: MapResult }> {
      const { record, mapper } = prepare(row);
      const entries = new Map<string, LookupEntry>();
      const [result] = await mapRecords(mapper, [record], async (keys) => {
        const found = await read(keys);
        for (const { table, key, ...entry } of found) entries.set(`${table} ${key}`, entry);
        return found;
      });
      if (result === undefined) throw new Error('The row has no result.');
      const lookups = rowsLookedUp(result, mapper, entries);
      return { given: { source: row.source, stream: row.stream, row: record.fields, lookups }, result };
    },
  };
}

/** The rows of the tables over streams from which a result has its values, by the names of the tables. */
function rowsLookedUp(
  { uses = [] }: MapResult,
  mapper: Mapper,
  entries: ReadonlyMap<string, LookupEntry>,
): Record<string, JsonObject[]> {
  const tables = new Map((mapper.lookups ?? []).map((table) => [table.id, table]));
  const rows: Record<string, JsonObject[]> = {};
  for (const { table: id, key } of uses) {
    const table = tables.get(id);
    if (table === undefined || table.stream === null) continue;
    const values = entries.get(`${id} ${key}`)?.values ?? [];
    rows[table.name] = [...(rows[table.name] ?? []), ...rowsOfEntry(table.stream, key, values)];
  }
  return rows;
}
