import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { PlacedCase } from '../../config/cases/read-cases.ts';
import type { KeyedSource, MappingsConfig } from '../../config/loaded-config.ts';
import { casesIn, createCaseMappers, readIfThere } from '../../daemon/cases/test-cases.ts';
import { fault } from '../../domain/faults.ts';
import type { Expectation, GivenRow } from '../../domain/mapping-case.ts';
import { readableKey } from '../../domain/record.ts';
import { kindWord } from '../../domain/words/states.ts';
import { fileReasonOf } from '../../lib/errors.ts';
import { compareCase, expectationOf } from '../../pipeline/cases/compare-case.ts';
import type { ReadEntries } from '../../pipeline/map-records.ts';
import type { CommandContext } from '../context.ts';
import { hasNoCase, newCasesText, withCase } from './case-text.ts';

interface Target {
  file: string;
  /** The name that the case gets if no other case of the file has it. */
  name: string;
  config: MappingsConfig;
  secrets: CommandContext['secrets'];
  read: ReadEntries;
}

/**
 * Adds a case of a row to a file, which is made if it does not exist.
 *
 * @returns the case, or the case of the file that has the same row already
 * @throws Fault `usage` if the file cannot be written
 */
export async function writeCase(
  row: Omit<GivenRow, 'lookups'>,
  { file, name, config, secrets, read }: Target,
): Promise<PlacedCase | { known: PlacedCase }> {
  const text = await readIfThere(file);
  const present = text === null || hasNoCase(text) ? [] : casesIn(file, text, { config, secrets });
  const mappers = await createCaseMappers(config, [row.source]);
  const { given, result } = await mappers.record(row, read);
  const known = present.find((one) => isDeepStrictEqual(one.given, given));
  if (known !== undefined) return { known };
  const made = { name: freeName(name, present), given, expect: expectationOf(result) };
  const isSourceKnown = sourcesWith(given.stream, config).length === 1;
  const next =
    text === null ? newCasesText(basename(config.file), made, isSourceKnown) : withCase(text, made, isSourceKnown);
  const written = casesIn(file, next, { config, secrets }).at(-1);
  const isSame =
    written !== undefined &&
    isDeepStrictEqual(written.given, given) &&
    compareCase(written.expect, mappers.map(written.given).result).length === 0;
  if (!isSame) {
    throw fault('usage', `What the row becomes now cannot be written as a case, so ${file} stays as it is.`, {
      suggestion: 'Read the sources that the mapping looks up to their end, or name another row.',
    });
  }
  await store(file, next);
  return written;
}

function freeName(name: string, cases: readonly PlacedCase[]): string {
  const isTaken = (one: string) => cases.some((other) => other.name === one);
  for (let count = 1; ; count += 1) {
    const free = count === 1 ? name : `${name} (${count})`;
    if (!isTaken(free)) return free;
  }
}

async function store(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw fault('usage', `${file} cannot be written: ${fileReasonOf(error)}.`, {
      suggestion: 'Name a file in a folder that exists and in which dpp-sync may write.',
      cause: error,
    });
  }
}

function sourcesWith(stream: string, { sources }: MappingsConfig): KeyedSource[] {
  return sources.filter(({ streams }) => streams.some(({ name }) => name === stream));
}

/** @param key null for a row without a key */
export function nameOfRow(
  { source, stream }: Omit<GivenRow, 'lookups'>,
  key: string | null,
  config: MappingsConfig,
): string {
  const of = sourcesWith(stream, config).length === 1 ? stream : `${source}/${stream}`;
  return key === null ? `a row of ${of}` : `row ${readableKey(key)} of ${of}`;
}

/** What a case expects, as a sentence. */
export function described({ items = [], issue = [], excluded }: Expectation): string {
  if (excluded) return 'No mapping takes the row.';
  const made = items.map(({ kind, key }) => `${kindWord(kind)} ${key}`);
  const found = issue.map(({ code, field }) => `${code}${field === undefined ? '' : ` in ${field}`}`);
  return `The row becomes ${[...made, ...found.map((one) => `the issue ${one}`)].join(', ')}.`;
}
