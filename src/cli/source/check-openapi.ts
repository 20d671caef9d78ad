import { stringify } from 'yaml';
import type { Difference } from '../../api/openapi/match.ts';
import { fault } from '../../domain/faults.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { CommandContext } from '../context.ts';
import { readInputFile } from '../files.ts';
import type { Output } from '../text/output.ts';
import { plural } from '../text/style.ts';

/**
 * Compares the platform's own OpenAPI document with the profile of the config, and shows which settings to change. It
 * only reads these two files, so it needs neither network nor ledger.
 *
 * @returns 0 if nothing needs to be done, 4 if something breaks, needs a setting, or could not be read
 * @throws Fault `usage` for a file that cannot be read or is not an OpenAPI document
 */
export async function checkOpenApi(file: string, context: CommandContext): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig();
  const { compareOpenApi } = await import('../../api/openapi/compare.ts');
  const { OPENAPI_BYTES_MAX } = await import('../../api/openapi/document.ts');
  const compared = compareOpenApi(await readInputFile(file, OPENAPI_BYTES_MAX), config.profile);
  if (!compared.ok) throw fault('usage', `${file}: ${compared.error}`);
  const differences = compared.value;
  const settings = settingsOf(differences);
  const exitCode = differences.some(({ weight, value }) => weight !== 'note' || value !== undefined) ? 4 : 0;
  if (output.json) {
    output.document({ ok: exitCode === 0, config: { file: config.file }, openapi: { file, differences, settings } });
  } else {
    print(differences, settings, { file, configFile: config.file, output });
  }
  return exitCode;
}

/** The settings of the profile and the config for which the document gives a value. */
export interface Settings {
  profile: JsonObject;
  target: JsonObject;
}

export function settingsOf(differences: readonly Difference[]): Settings {
  const all: JsonObject = {};
  for (const { setting, value } of differences) {
    if (setting !== undefined && value !== undefined) put(all, setting.split('.'), value);
  }
  const { target = {}, ...profile } = all;
  return { profile, target: isJsonObject(target) ? target : {} };
}

/**
 * Adds a value to the settings. If several differences give lists for one setting, the lists are combined, because each
 * entry is one more place to search.
 */
function put(into: JsonObject, [name = '', ...rest]: string[], value: JsonValue): void {
  const before = Object.hasOwn(into, name) ? into[name] : undefined;
  if (rest.length === 0) {
    into[name] = Array.isArray(before) && Array.isArray(value) ? [...new Set([...before, ...value])] : value;
    return;
  }
  const inner = isJsonObject(before) ? before : {};
  into[name] = inner;
  put(inner, rest, value);
}

const GROUPS = [
  { weight: 'breaks', title: 'Requests fail until this is corrected', colour: 'red' },
  { weight: 'unread', title: 'Not compared, because it cannot be read', colour: 'red' },
  { weight: 'note', title: 'Worth knowing', colour: 'yellow' },
] as const;

function print(
  differences: readonly Difference[],
  settings: Settings,
  { file, configFile, output }: { file: string; configFile: string; output: Output },
): void {
  const { paint } = output;
  const found = differences.length === 0 ? 'no differences' : plural(differences.length, 'difference');
  output.print(`${file} against the profile of ${configFile}: ${found}`);
  for (const { weight, title, colour } of GROUPS) {
    const group = differences.filter((one) => one.weight === weight);
    if (group.length === 0) continue;
    output.print('', paint('bold', `${title} (${group.length})`));
    for (const [path, members] of Map.groupBy(group, (one) => one.path)) {
      output.print(`  ${path}`);
      for (const { what, found: has, expected, setting, value } of members) {
        const cure = setting === undefined ? '' : `; ${value === undefined ? 'look at' : 'set'} ${setting}`;
        output.print(`    ${paint(colour, what)}: found ${has}, expected ${expected}${paint('dim', cure)}`);
      }
    }
  }
  for (const line of settingsLines(settings, output)) output.print(line);
}

function settingsLines({ profile, target }: Settings, { paint }: Output): string[] {
  const lines: string[] = [];
  if (Object.keys(profile).length > 0) {
    lines.push('', paint('bold', 'To be set in a profile, which the config names with target.profile'), '');
    lines.push(...yamlLines({ extends: 'default', ...profile }));
  }
  if (Object.keys(target).length > 0) {
    lines.push('', paint('bold', 'To be set in the config'), '', ...yamlLines({ target }));
  }
  return lines;
}

/** Lines of YAML without indentation, so that they can be pasted unchanged. */
function yamlLines(value: JsonObject): string[] {
  return stringify(value, { lineWidth: 0 }).trimEnd().split('\n');
}
