import { basename } from 'node:path';
import { casesFileOf, type PlacedCase, readCases } from '../../config/cases/read-cases.ts';
import type { MappingsConfig } from '../../config/loaded-config.ts';
import { problemsFault } from '../../config/problem.ts';
import { fault } from '../../domain/faults.ts';
import { readBoundedFile } from '../../lib/files.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import type { CasesOfFile } from './run-cases.ts';

const BYTES_MAX = 16 * 1024 * 1024;

/**
 * Reads the cases of files, or those of the file beside the config if none is named.
 *
 * @throws Fault `cases.missing` for a file that does not exist or cannot be read, `cases.invalid` with the problems of all
 *   files
 */
export async function loadCases(
  files: readonly string[],
  { config, configFile, secrets }: { config: MappingsConfig; configFile: string; secrets: SecretStore },
): Promise<CasesOfFile[]> {
  const loaded: CasesOfFile[] = [];
  const refused: Parameters<typeof problemsFault>[1][number][] = [];
  for (const file of files.length > 0 ? files : [casesFileOf(configFile)]) {
    const cases = readCases(await readCasesFile(file), { config, secrets });
    if (cases.ok) loaded.push({ file, cases: cases.value });
    else refused.push({ file, problems: cases.error });
  }
  if (refused.length > 0) throw problemsFault('cases.invalid', refused);
  return loaded;
}

/** @throws Fault `cases.missing` */
async function readCasesFile(file: string): Promise<string> {
  const text = await readIfThere(file);
  if (text !== null) return text;
  throw fault('cases.missing', `There is no file of cases: ${file}.`, {
    suggestion: `Write a case from a stored row with \`dpp-sync test --record KEY\`, or by hand: docs/tests.md shows one. Or name files: \`dpp-sync test FILE\`.`,
  });
}

/** Null if there is no such file. */
export async function readIfThere(file: string): Promise<string | null> {
  const content = await readBoundedFile(file, BYTES_MAX);
  if (content.ok) return content.value;
  const { kind, reason } = content.error;
  if (kind === 'missing') return null;
  throw fault('cases.missing', `The file of cases ${file} ${reason}.`, {
    suggestion: `Check the path and the permissions of ${basename(file)}.`,
  });
}

/** The cases of a text, which has to be without problems. */
export function casesIn(
  file: string,
  text: string,
  given: { config: MappingsConfig; secrets: SecretStore },
): PlacedCase[] {
  const cases = readCases(text, given);
  if (!cases.ok) throw problemsFault('cases.invalid', [{ file, problems: cases.error }]);
  return cases.value;
}
