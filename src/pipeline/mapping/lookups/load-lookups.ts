import { extname, resolve } from 'node:path';
import type { LookupTable } from '../../../domain/lookup.ts';
import type { LookupConfig } from '../../../domain/mapping.ts';
import { canonicalJson } from '../../../lib/canonical-json.ts';
import { sha256Url } from '../../../lib/hash.ts';
import { err, ok, type Result } from '../../../lib/result.ts';
import { suggest } from '../../../lib/text/suggest.ts';
import type { MappingProblem } from '../definition.ts';
import { loadLookupTable } from './lookup-tables.ts';
import type { LookupTables, NamedTable } from './lookups.ts';

/** The source whose mappings look something up. */
interface LookingUp {
  source: string;
  baseDir: string;
  lookups?: Readonly<Record<string, LookupConfig>>;
}

/**
 * Loads the tables that expressions and modules name: tables that the config declares, and files that are named
 * directly.
 *
 * @param wantedBy the names, each with the place in the config that a message about it shows
 */
export async function loadLookups(
  wantedBy: ReadonlyMap<string, string>,
  source: LookingUp,
  { tables, problems, files }: { tables: LookupTables; problems: MappingProblem[]; files: Set<string> },
): Promise<void> {
  for (const [name, path] of wantedBy) {
    const loaded = await loadTable(name, source, files);
    if (loaded.ok) tables.add(name, loaded.value);
    else problems.push({ path, message: loaded.error });
  }
}

async function loadTable(name: string, source: LookingUp, files: Set<string>): Promise<Result<NamedTable, string>> {
  const { lookups = {}, baseDir } = source;
  const declared = Object.hasOwn(lookups, name) ? lookups[name] : undefined;
  if (declared?.stream !== undefined) {
    const { key, value } = declared;
    const stream = { source: declared.source ?? source.source, stream: declared.stream, key, value };
    const id = idOf(source, { stream });
    return ok({
      table: { id, name, stream, entries: null },
      title: `lookup table "${name}" (${stream.source}/${stream.stream})`,
      ...columnOf(declared),
    });
  }
  if (declared === undefined && extname(name) === '') {
    const near = suggest(name, Object.keys(lookups));
    const cure = near === undefined ? 'Declare it under "lookups" of the source.' : `Did you mean "${near}"?`;
    return err(`There is no lookup table "${name}". ${cure}`);
  }
  const file = declared?.file ?? name;
  files.add(resolve(baseDir, file));
  const entries = await loadLookupTable(file, baseDir, declared);
  if (!entries.ok) return entries;
  const id = idOf(source, { file, key: declared?.key ?? null, value: declared?.value ?? null });
  return ok({
    table: { id, name, stream: null, entries: entries.value },
    title: `lookup file "${file}"`,
    ...columnOf(declared),
  });
}

function columnOf(declared: LookupConfig | undefined): Pick<NamedTable, 'column'> {
  return typeof declared?.value === 'string' ? { column: declared.value } : {};
}

/** Each source has separate tables, because each source reads changed files at another time. */
function idOf({ source }: LookingUp, definition: object): LookupTable['id'] {
  return sha256Url(canonicalJson({ source, ...(JSON.parse(JSON.stringify(definition)) as object) }));
}
