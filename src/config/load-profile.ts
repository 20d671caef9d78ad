import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Profile } from '../domain/profile.ts';
import { err, ok, type Result } from '../lib/errors.ts';
import { readBoundedFile } from '../lib/files.ts';
import { isJsonObject } from '../lib/json.ts';
import { createSecretStore } from '../lib/logging/secrets.ts';
import { suggest } from '../lib/text/suggest.ts';
import { createFindings, didYouMean } from './checks/findings.ts';
import { type ConfigDocument, parseDocumentText } from './document.ts';
import { parseSettings } from './parse-settings.ts';
import { formatProblem } from './problem.ts';

const PROFILE_BYTES_MAX = 262_144;
const EXTENDS_MAX = 8;

interface ProfileQuery {
  /** The name of a profile in `profilesDir`, or the path of a profile file. */
  name: string;
  /** The folder that a path is relative to. */
  folder: string;
  profilesDir: string;
  /** Called with the path of each file from which the profile is read. */
  onFile?: (path: string) => void;
}

/**
 * Reads a profile. If it `extends` another profile, it is merged over that one: objects are merged member by member,
 * and all other values are replaced. A value that no file has gets the default of the schema.
 *
 * @returns the profile, or all its problems, each as a full line for people
 */
export async function loadProfile(query: ProfileQuery): Promise<Result<Profile, string[]>> {
  const raw = await readProfile(query);
  if (!raw.ok) return raw;
  const { value, document, file } = raw.value;
  const findings = createFindings({ document, value, templates: new Map(), secrets: createSecretStore() });
  const profile = parseSettings(Profile, value, {
    path: [],
    findings,
    isExpanded: () => false,
    alsoKnown: ['extends'],
  });
  if (profile !== undefined) return ok(profile);
  return err(findings.problems.map((problem) => `${basename(file)}, ${formatProblem(problem)}`));
}

interface RawProfile {
  value: Record<string, unknown>;
  document: ConfigDocument;
  file: string;
}

async function readProfile(query: ProfileQuery, above = 0): Promise<Result<RawProfile, string[]>> {
  const isPath = /[\\/]|\.(?:ya?ml|json)$/i.test(query.name);
  const file = isPath ? resolve(query.folder, query.name) : join(query.profilesDir, `${query.name}.yaml`);
  if (above > EXTENDS_MAX) {
    return err([`the profile ${query.name} extends itself, or a chain of more than ${EXTENDS_MAX} other profiles`]);
  }
  query.onFile?.(file);
  const text = await readText(file, query.name);
  if (!text.ok) return isPath ? text : err([`${text.error.join()}${await profileNames(query)}`]);
  const parsed = parseDocumentText(text.value);
  if (!parsed.ok) return err(parsed.error.map((problem) => `${basename(file)}, ${formatProblem(problem)}`));
  const { value } = parsed.value;
  if (!isJsonObject(value)) return err([`${basename(file)}: found no named values, expected the values of a profile`]);
  const { extends: base, ...own } = value;
  if (base === undefined) return ok({ value: own, document: parsed.value, file });
  if (typeof base !== 'string') return err([`${basename(file)}, extends: expected the name or path of a profile`]);
  const lower = await readProfile({ ...query, name: base, folder: dirname(file) }, above + 1);
  if (!lower.ok) return lower;
  return ok({ value: merge(lower.value.value, own), document: parsed.value, file });
}

async function readText(file: string, name: string): Promise<Result<string, string[]>> {
  const content = await readBoundedFile(file, PROFILE_BYTES_MAX);
  if (content.ok) return content;
  const { kind, reason } = content.error;
  return err([kind === 'unfit' ? `the profile ${file} ${reason}` : `the profile "${name}" ${reason} (${file})`]);
}

/** Names that exist, for an error about a name that does not. */
async function profileNames({ name, profilesDir }: ProfileQuery): Promise<string> {
  const files = await readdir(profilesDir).catch(() => []);
  const names = files.flatMap((file) => (file.endsWith('.yaml') ? [file.slice(0, -'.yaml'.length)] : [])).sort();
  if (names.length === 0) return '';
  const likely = didYouMean(suggest(name, names));
  return `. Name a file, or one of these profiles: ${names.join(', ')}.${likely === undefined ? '' : ` ${likely}`}`;
}

function merge(base: Record<string, unknown>, own: Record<string, unknown>): Record<string, unknown> {
  const members = new Map(Object.entries(base));
  for (const [name, value] of Object.entries(own)) {
    const below = members.get(name);
    members.set(name, isJsonObject(below) && isJsonObject(value) ? merge(below, value) : value);
  }
  return Object.fromEntries(members);
}
