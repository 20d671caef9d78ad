import { resolve } from 'node:path';
import { fault } from '../domain/faults.ts';
import { err, ok, type Result } from '../lib/errors.ts';
import { readBoundedFile } from '../lib/files.ts';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import type { Environment } from './environment.ts';
import { formatPath, type PathSegment } from './problem.ts';

const SECRET_FILE_BYTES_MAX = 65_536;

/** `$${` (a literal `${`), `${file:PATH}` and `${NAME}`, both with `:-default` or without, or a `${` that is none of these. */
const PLACEHOLDER = /\$\$\{|\$\{file:([^}]+?)(?::-([^}]*))?\}|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

interface Interpolation {
  env: Environment;
  /** The folder that paths in placeholders are relative to. */
  folder: string;
  /** Called with the path of each file that a placeholder names, even if the file does not exist. */
  onFile?: (path: string) => void;
}

interface InterpolationProblem {
  path: PathSegment[];
  message: string;
  cure?: string;
}

/** A config's values with every placeholder replaced. */
interface Interpolated {
  value: unknown;
  /** The original texts with their placeholders, by the JSON of their path. Only for texts that had a placeholder. */
  templates: ReadonlyMap<string, string>;
  /** Values from files, and from variables with the name of a secret. */
  secrets: readonly string[];
  problems: InterpolationProblem[];
}

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD/i;

/**
 * Replaces the placeholders in every text. Keys are not changed. Placeholders in an inserted value are not replaced.
 */
export async function interpolate(value: unknown, context: Interpolation): Promise<Interpolated> {
  const templates = new Map<string, string>();
  const secrets: string[] = [];
  const problems: InterpolationProblem[] = [];
  const walk = async (at: unknown, path: PathSegment[]): Promise<unknown> => {
    if (typeof at === 'string') {
      if (!at.includes('${')) return at;
      templates.set(JSON.stringify(path), at);
      const expanded = await expandTemplate(at, context);
      if (expanded.ok) {
        secrets.push(...expanded.value.secrets);
        return expanded.value.text;
      }
      for (const problem of expanded.error) problems.push({ path, ...problem });
      return at;
    }
    if (Array.isArray(at)) {
      const list: unknown[] = [];
      for (const [index, entry] of at.entries()) list.push(await walk(entry, [...path, index]));
      return list;
    }
    if (!isJsonObject(at)) return at;
    const members: [string, unknown][] = [];
    for (const [name, member] of Object.entries(at)) members.push([name, await walk(member, [...path, name])]);
    return Object.fromEntries(members);
  };
  return { value: await walk(value, []), templates, secrets, problems };
}

/** Replaces the placeholders in one text; fails with every placeholder that has no value. */
async function expandTemplate(
  template: string,
  context: Interpolation,
): Promise<Result<{ text: string; secrets: string[] }, Omit<InterpolationProblem, 'path'>[]>> {
  const secrets: string[] = [];
  const problems: Omit<InterpolationProblem, 'path'>[] = [];
  let text = '';
  let end = 0;
  for (const match of template.matchAll(PLACEHOLDER)) {
    text += template.slice(end, match.index);
    end = match.index + match[0].length;
    const [whole, file, fileFallback, name, fallback] = match;
    if (whole === '$${') {
      text += '${';
    } else if ([file, fileFallback, fallback].some((part) => part?.includes('${'))) {
      problems.push({
        message: `found \${ within \${${name ?? 'file:…'}}, expected a placeholder without another one in it`,
        cure: 'Write the name, the path and the default as they are.',
      });
    } else if (file !== undefined) {
      const path = resolve(context.folder, file);
      context.onFile?.(path);
      const content = await fileContent(path, fileFallback);
      if (content.ok) {
        text += content.value;
        secrets.push(content.value);
      } else
        problems.push({ message: `found \${file:${file}}, which ${content.error}, expected a file that can be read` });
    } else if (name !== undefined) {
      const given = context.env[name];
      const value = fallback !== undefined && isUnset(given) ? fallback : given;
      if (value === undefined) {
        problems.push({
          message: `found \${${name}}, expected an environment variable of that name`,
          cure: `Set ${name}, or write \${${name}:-DEFAULT}.`,
        });
      } else {
        text += value;
        if (SECRET_NAME.test(name)) secrets.push(value);
      }
    } else {
      problems.push({
        message: 'found ${ that begins no placeholder, expected ${NAME}, ${NAME:-default} or ${file:/path}',
        cure: 'Write $${ for the characters themselves.',
      });
    }
  }
  return problems.length > 0 ? err(problems) : ok({ text: text + template.slice(end), secrets });
}

/** As in a shell, `:-` also replaces an empty value. */
function isUnset(value: string | undefined): boolean {
  return value === undefined || value === '';
}

/** The variables of a text that are not set, so that the text has their defaults. */
function unsetVariables(template: string, env: Environment): string[] {
  return [...template.matchAll(PLACEHOLDER)].flatMap(([, , , name, fallback]) =>
    name !== undefined && fallback !== undefined && isUnset(env[name]) ? [name] : [],
  );
}

/**
 * The file's text without its last line end, or why it cannot be read. The fallback is used for a missing or empty
 * file. A file that exists and cannot be read is a mistake.
 */
async function fileContent(path: string, fallback: string | undefined): Promise<Result<string, string>> {
  const content = await readBoundedFile(path, SECRET_FILE_BYTES_MAX);
  if (!content.ok) {
    return content.error.kind === 'missing' && fallback !== undefined ? ok(fallback) : err(content.error.reason);
  }
  const text = content.value.replace(/\r?\n$/, '');
  return ok(text === '' && fallback !== undefined ? fallback : text);
}

/** A secret of the config. No config object has its value, so that the value cannot be printed by accident (I7). */
export function createSecretSource(
  options: Interpolation & {
    path: string;
    /** The text with its placeholders, or null if there are none. */
    template: string | null;
    value: string;
    secrets: SecretStore;
  },
) {
  const { path, template, value, secrets } = options;
  return {
    /** The path of the secret in the config. */
    path,
    /** The variables that are not set, so that the value has their defaults. */
    unset: template === null ? [] : unsetVariables(template, options.env),
    /**
     * Reads the present value from the file or variable, so that a changed key is used without a restart. It is
     * registered with the secret store before it is returned.
     *
     * @throws Fault `config.invalid` when the file or variable is gone
     */
    async read(): Promise<string> {
      if (template === null) return value;
      const expanded = await expandTemplate(template, options);
      if (!expanded.ok) {
        const [problem] = expanded.error;
        throw fault('config.invalid', `${path}: ${problem?.message ?? 'the value is gone'}.`, {
          path,
          ...(problem?.cure === undefined ? {} : { suggestion: problem.cure }),
        });
      }
      const { text } = expanded.value;
      for (const secret of [text, ...expanded.value.secrets]) secrets.add(secret);
      return text;
    },
  };
}

export type SecretSource = ReturnType<typeof createSecretSource>;

// Commands that only look into the ledger or into the sources need few settings. A secret that they do not use must not
// stop them, because people run these commands where the daemon's secrets are not available: in another container, as
// another user, or before they have a key of the platform.

/** The needs of a command that only reads the ledger, and of one that also reads the queue. */
export type LedgerNeeds = 'ledger' | 'ledger_and_queue';
/**
 * The needs of a command for which the connectors are loaded. `sources`: it only reads the sources. `unmapped_sources`: it reads
 * sources that may have no mapping yet. `dialects`: it only reads the
 * ledger, and writes rows in the form of the sources' files.
 */
export type SourceNeeds = 'all' | 'sources' | 'unmapped_sources' | 'dialects';
/** The needs of a command that maps rows which it is given, and reads neither sources nor the ledger. */
export type MappingNeeds = 'mappings';
/** The parts of the config that a command needs. */
export type Needs = LedgerNeeds | SourceNeeds | MappingNeeds;

/** The sections that a command needs if it does not need all. */
const READ_SECTIONS = ['target', 'queue', 'queuePassword', 'ledger', 'sources', 'passports'];

/** Stands for a secret that cannot be read. Reading the secret itself throws the fault. */
const STAND_IN = 'UNRESOLVED-SECRET-THAT-NOBODY-USES';

/**
 * Leaves out the parts that the command does not need and that cannot be read: the section `web`, other sections in
 * which a placeholder has no value, and the problems of such placeholders in keys and in the settings of connectors.
 */
export function leaveOutUnread(interpolated: Interpolated, needs: Needs): Interpolated {
  const { value } = interpolated;
  if (needs === 'all' || !isJsonObject(value)) return interpolated;
  if (needs === 'mappings') return onlyMappings(interpolated, value);
  const unread = new Set(['web']);
  const problems = interpolated.problems.filter(({ path }) => {
    const [section] = path;
    if (typeof section === 'string' && !READ_SECTIONS.includes(section)) unread.add(section);
    else if (!isUnused(path, needs)) return true;
    else setAt(value, path);
    return false;
  });
  const read = Object.fromEntries(Object.entries(value).filter(([section]) => !unread.has(section)));
  return { ...interpolated, value: read, problems };
}

/** The address of a platform that nobody calls. */
const STAND_IN_URL = 'https://unused.invalid';
/** The members of a source on which the result of a mapping depends. */
const MAPPING_MEMBERS = ['id', 'connector', 'streams', 'options', 'omit', 'lookups', 'units', 'mappings'];

/**
 * The sources and the profile alone, with a platform that nobody calls. A placeholder without a value is a problem only
 * where the result of a mapping depends on it.
 */
function onlyMappings(interpolated: Interpolated, { target, sources }: JsonObject): Interpolated {
  const profile = isJsonObject(target) && target['profile'] !== undefined ? { profile: target['profile'] } : {};
  const value = {
    target: { baseUrl: STAND_IN_URL, apiKey: STAND_IN, ...profile },
    ...(sources === undefined ? {} : { sources }),
  };
  const problems = interpolated.problems.filter(({ path }) => {
    const [section, , member, ...below] = path;
    if (section !== 'sources' || member === undefined) return formatPath(path) === 'target.profile';
    if (!MAPPING_MEMBERS.includes(String(member))) removeAt(value, path.slice(0, 3));
    else if (isOfConnector(String(member), below)) setAt(value, path);
    else return true;
    return false;
  });
  return { ...interpolated, value, problems };
}

/** Whether a setting of a source only says which files or tables are read, and how. */
function isOfConnector(member: string, below: readonly PathSegment[]): boolean {
  return member === 'connector' || ((member === 'options' || member === 'streams') && !below.includes('key'));
}

/** Whether the command uses no setting with this path, of those that may contain a secret. */
function isUnused(path: readonly PathSegment[], needs: Exclude<Needs, 'all' | MappingNeeds>): boolean {
  const name = formatPath(path);
  if (name === 'queuePassword') return needs !== 'ledger_and_queue';
  if (/^target\.(?:apiKey|publishKey)$/.test(name)) return true;
  return needs !== 'sources' && needs !== 'unmapped_sources' && /^sources\[\d+\]\.(?:options|streams)\b/.test(name);
}

function setAt(value: JsonObject, path: readonly PathSegment[]): void {
  const last = path.at(-1);
  if (last !== undefined) holderOf(value, path)[last] = STAND_IN;
}

function removeAt(value: JsonObject, path: readonly PathSegment[]): void {
  const last = path.at(-1);
  if (last !== undefined) delete holderOf(value, path)[last];
}

function holderOf(value: JsonObject, path: readonly PathSegment[]): Record<PathSegment, unknown> {
  let at: unknown = value;
  for (const segment of path.slice(0, -1)) at = (at as Record<PathSegment, unknown>)[segment];
  return at as Record<PathSegment, unknown>;
}
