import { dirname, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { createFindings } from '../../config/checks/findings.ts';
import { type ConfigDocument, parseDocumentText } from '../../config/document.ts';
import { parseSettings } from '../../config/parse-settings.ts';
import { type ConfigProblem, configFault, formatProblem } from '../../config/problem.ts';
import { fault } from '../../domain/faults.ts';
import { withoutAbsent } from '../../lib/collections.ts';
import { isJsonObject } from '../../lib/json.ts';
import { createSecretStore } from '../../lib/logging/secrets.ts';
import { suggest } from '../../lib/text/suggest.ts';
import { FaultRule } from '../../sandbox/faults/faults.ts';
import { RateLimit, SandboxSettings } from '../../sandbox/settings/settings.ts';
import { readInputFile } from '../files.ts';

/** The flags of `sandbox` for its behaviour. */
export interface SettingsFlags {
  settings?: string;
  set?: readonly Assignment[];
  data?: string;
  rate?: number;
  burst?: number;
  idempotency?: string;
  ids?: string;
  gates?: readonly GateName[];
  review?: boolean;
  lies?: readonly string[];
  fault?: readonly FaultDraft[];
  faults?: string;
  seed?: number;
}

/** `paging=cursor`: a setting by its path, and the text of its value. */
export interface Assignment {
  path: string;
  value: string;
}

export type GateName = keyof typeof GATES;

/** The gates by the names that they have on the command line. */
const GATES = { product: 'productComplete', bom: 'bomPresent', material: 'materialData', review: 'review' } as const;

const FILE_BYTES_MAX = 1_048_576;

type Tree = Record<string, unknown>;

/**
 * Combines the settings of a sandbox: flags replace values of the file, and values of `--set` replace both.
 *
 * @throws Fault `config.invalid` with every problem of a file, or `usage` with every problem of the flags
 */
export async function sandboxSettings(flags: SettingsFlags): Promise<SandboxSettings> {
  refuseIdleFlags(flags);
  const base = flags.settings === undefined ? {} : await settingsFile(flags.settings);
  const listed = flags.faults === undefined ? [] : await faultsFile(flags.faults);
  const drafts = (flags.fault ?? []).map((draft, index) =>
    flags.seed === undefined || draft['probability'] === undefined ? draft : { seed: flags.seed + index, ...draft },
  );
  const before = Array.isArray(base['faults']) ? (base['faults'] as unknown[]) : [];
  let settings: Tree = { ...base, ...plainFlags(flags), faults: [...before, ...listed, ...drafts] };
  settings = merge(settings, { gates: gatesOf(flags) });
  for (const { path, value } of flags.set ?? []) settings = merge(settings, nested(path.split('.'), valueOf(value)));

  const checked = check(SandboxSettings, settings, { value: settings, lineOf: () => null });
  if (checked.ok) return checked.value;
  const lines = checked.problems.map((problem) => `  ${formatProblem(problem)}`);
  throw fault('usage', [`The settings have ${lines.length === 1 ? 'a problem' : 'problems'}:`, ...lines].join('\n'), {
    suggestion: 'docs/api-coverage-sandbox.md has every setting, docs/sandbox.md every fault.',
  });
}

/**
 * A flag without an effect is an error, because its user relies on it.
 *
 * @throws Fault `usage`
 */
function refuseIdleFlags({ rate, burst, seed, fault: drafts = [] }: SettingsFlags): void {
  if (burst !== undefined && rate === undefined) {
    throw fault('usage', '--burst does nothing without --rate.', {
      suggestion: 'Give both, or change the limit of a settings file with --set rateLimit.burst=N.',
    });
  }
  const takesSeed = (draft: FaultDraft): boolean => draft['probability'] !== undefined && draft['seed'] === undefined;
  if (seed !== undefined && !drafts.some(takesSeed)) {
    throw fault('usage', '--seed does nothing without a --fault that has a probability and no seed of its own.', {
      suggestion: "As in --fault '*:latency=200,probability=0.1' --seed 7.",
    });
  }
}

/**
 * The settings of a file, without defaults. The path of the storage is relative to that file, like every path in a
 * config.
 */
async function settingsFile(file: string): Promise<Tree> {
  const document = await documentOf(file);
  const checked = check(SandboxSettings, document.value ?? {}, document);
  if (!checked.ok) throw configFault(file, checked.problems);
  const { storage } = checked.value;
  const given = isJsonObject(document.value) ? document.value : {};
  return storage === ':memory:' ? given : { ...given, storage: resolve(dirname(file), storage) };
}

async function faultsFile(file: string): Promise<FaultRule[]> {
  const document = await documentOf(file);
  const checked = check(z.array(FaultRule), document.value, document);
  if (!checked.ok) throw configFault(file, checked.problems);
  return checked.value;
}

async function documentOf(file: string): Promise<ConfigDocument> {
  const parsed = parseDocumentText(await readInputFile(file, FILE_BYTES_MAX));
  if (!parsed.ok) throw configFault(file, parsed.error);
  return parsed.value;
}

function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  document: ConfigDocument,
): { ok: true; value: z.infer<Schema> } | { ok: false; problems: readonly ConfigProblem[] } {
  const findings = createFindings({ document, value, templates: new Map(), secrets: createSecretStore() });
  const settings = parseSettings(schema, value, { path: [], findings, isExpanded: () => false });
  return settings === undefined ? { ok: false, problems: findings.problems } : { ok: true, value: settings };
}

function plainFlags({ data, rate, burst, idempotency, ids, lies }: SettingsFlags): Tree {
  const rateLimit =
    rate === undefined ? undefined : { kind: 'token-bucket', ratePerSecond: rate, burst: burst ?? rate };
  return withoutAbsent({ lies, storage: data, idempotency, ids, rateLimit });
}

/** `--gates` switches every gate on or off, and `--review` switches only one gate. */
function gatesOf({ gates, review }: SettingsFlags): Tree {
  const named = gates === undefined ? [] : Object.entries(GATES);
  const switched = named.map(([name, gate]) => [gate, { enabled: gates?.includes(name as GateName) }] as const);
  return { ...Object.fromEntries(switched), ...(review ? { review: { enabled: true } } : {}) };
}

function valueOf(text: string): unknown {
  const parsed = parseDocumentText(text);
  return parsed.ok ? parsed.value.value : text;
}

function nested([name = '', ...rest]: readonly string[], value: unknown): Tree {
  return { [name]: rest.length === 0 ? value : nested(rest, value) };
}

/**
 * Merges objects member by member. All other values are replaced, and so is a rate limit by a rate limit of another
 * kind.
 */
function merge(base: Tree, over: Tree): Tree {
  const members = new Map(Object.entries(base));
  for (const [name, value] of Object.entries(over)) {
    const below = members.get(name);
    const isMerged = isJsonObject(below) && isJsonObject(value) && !(name === 'rateLimit' && changesForm(below, value));
    members.set(name, isMerged ? merge(below, value) : value);
  }
  return Object.fromEntries(members);
}

/** True if a rate limit of the new kind has other members. Two names of the same algorithm have the same members. */
function changesForm({ kind: before }: Tree, { kind }: Tree): boolean {
  if (before === undefined || kind === undefined) return false;
  const formOf = (one: unknown) => RateLimit.options.find((option) => option.shape.kind.safeParse(one).success);
  return formOf(before) !== formOf(kind);
}

/** A fault from the command line that was not yet checked with the sandbox's schema. */
type FaultDraft = Record<string, string | number>;

/** Every kind of fault, with the name of its main number, which is typed directly after the kind. */
const MAIN_VALUES: Readonly<Record<FaultRule['kind'], string | null>> = {
  status: 'status',
  html: 'status',
  'reset-before': null,
  'reset-after': null,
  truncate: null,
  'slow-body': 'ms',
  duplicate: null,
  crossed: null,
  'partial-import': 'rows',
  outage: 'ms',
  latency: 'ms',
  move: null,
  shuffle: null,
  lag: 'ms',
};

/** Names whose values stay text even if they are digits. A comma ends a value. */
const TEXTS: ReadonlySet<string> = new Set(['match', 'body']);

/**
 * Parses `OPERATION:KIND[=NUMBER][,NAME=VALUE…]`: `product.create:status=500,effect=done,count=2`, `*:latency=200`,
 * `passport.publish:reset-after,probability=0.1`.
 */
export function faultFlag(text: string, before: readonly FaultDraft[] | undefined): FaultDraft[] {
  const form = 'Expected OPERATION:KIND[=NUMBER][,NAME=VALUE…], such as product.create:status=500,count=2.';
  const match = /^([a-z_.*]+):([a-z-]+)(?:=([^,]*))?(?:,(.*))?$/.exec(text);
  if (match === null) throw new InvalidArgumentError(form);
  const [, operation = '', kind = '', value, rest] = match;
  const draft: FaultDraft = { operation, kind };
  const main = mainValueOf(kind);
  if (main === undefined) {
    const likely = suggest(kind, Object.keys(MAIN_VALUES));
    const hint = likely === undefined ? '' : ` Did you mean ${likely}?`;
    const kinds = Object.keys(MAIN_VALUES).join(', ');
    throw new InvalidArgumentError(`There is no kind of fault "${kind}".${hint} The kinds are ${kinds}.`);
  }
  if (value !== undefined) {
    if (main === null) throw new InvalidArgumentError(`The kind ${kind} takes no number. ${form}`);
    draft[main] = typed(value);
  }
  for (const pair of rest === undefined ? [] : rest.split(',')) {
    const at = pair.indexOf('=');
    if (at < 1) throw new InvalidArgumentError(form);
    const name = pair.slice(0, at);
    draft[name] = TEXTS.has(name) ? pair.slice(at + 1) : typed(pair.slice(at + 1));
  }
  return [...(before ?? []), draft];
}

/** The text of a rule in the form that `faultFlag` reads. */
export function faultWords({ operation, kind, ...rest }: FaultRule): string {
  const details: Readonly<Record<string, string | number | undefined>> = rest;
  const main = MAIN_VALUES[kind];
  const others = Object.entries(details).flatMap(([name, value]) =>
    name === main || value === undefined ? [] : [`${name}=${value}`],
  );
  const value = main === null ? '' : `=${details[main] ?? ''}`;
  return [`${operation}:${kind}${value}`, ...others].join(',');
}

/** Null for a kind without a number, undefined for an unknown kind. */
function mainValueOf(kind: string): string | null | undefined {
  return Object.hasOwn(MAIN_VALUES, kind) ? MAIN_VALUES[kind as FaultRule['kind']] : undefined;
}

function typed(text: string): string | number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
