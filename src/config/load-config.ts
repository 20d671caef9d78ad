import { dirname, resolve } from 'node:path';
import { fault } from '../domain/faults.ts';
import type { Profile } from '../domain/profile.ts';
import { readBoundedFile } from '../lib/files.ts';
import { sha256Hex } from '../lib/hash.ts';
import { isJsonObject } from '../lib/json.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { addAddressSecrets, addChannelSecrets, checkChannels, loadedAlerts } from './alerts.ts';
import { checkPassports, checkQueuePassword, checkSources, checkWeb, sourcesIn } from './checks/check-sections.ts';
import { addFlaws, createFindings, type Findings, type MappingFlaw, segmentsOf } from './checks/findings.ts';
import { Config, type SourceConfig } from './config.ts';
import {
  addStreamsOfOtherConnectors,
  type ConnectorLoader,
  type ConnectorSchemas,
  type ConnectorSettings,
  checkConnector,
  checkStreamKeys,
  isPathOfConnector,
  type KeyedStream,
  loadNamed,
} from './connectors.ts';
import { parseDocumentText } from './document.ts';
import type { Environment } from './environment.ts';
import { type QueueSetting, WEEKDAYS } from './fields.ts';
import {
  createSecretSource,
  interpolate,
  type LedgerNeeds,
  leaveOutUnread,
  type MappingNeeds,
  type Needs,
  type SecretSource,
  type SourceNeeds,
} from './interpolate.ts';
import { loadProfile } from './load-profile.ts';
import {
  createSettingsReader,
  type LedgerConfig,
  type LedgerSource,
  type LoadedConfig,
  type LoadedPause,
  type LoadedSource,
  type LoadedWeb,
  loadedLookups,
  loadedMapping,
  type MappingsConfig,
  type ReadableMappings,
  readableMappings,
} from './loaded-config.ts';
import { parseSettings, type SettingsContext } from './parse-settings.ts';
import { configFault, formatPath, type PathSegment } from './problem.ts';

const CONFIG_BYTES_MAX = 1_048_576;

export interface LedgerLoadOptions {
  /** The config file. */
  file: string;
  env: Environment;
  /** The folder of the profiles that are known by name. */
  profilesDir: string;
  /** What the command reads. */
  needs: LedgerNeeds;
  /** Registers every secret of the config before any message about it. */
  secrets: SecretStore;
  /**
   * Called when the config has problems, to report those of its mappings with them. Gets the mappings of each source
   * that can be read, and the folder of the config.
   */
  compile?: (mappings: ReadableMappings, folder: string) => Promise<readonly MappingFlaw[]>;
}

export interface LoadOptions<Connector extends ConnectorSchemas> extends Omit<LedgerLoadOptions, 'needs'> {
  connectors: ConnectorLoader<Connector>;
  /** What the command needs. The default is `all`. */
  needs?: SourceNeeds;
}

/**
 * Reads, completes and checks the config file. All problems are reported at once, unless one problem hides another.
 *
 * @throws Fault `config.missing` when there is no such file, `config.invalid` with every problem (see `problemsOf`)
 */
export function loadConfig<Connector extends ConnectorSchemas>({
  connectors,
  needs = 'all',
  ...options
}: LoadOptions<Connector>): Promise<LoadedConfig<Connector>> {
  return loadConfigWith({ ...options, needs }, (read) => connectorSettings(connectors, read));
}

/**
 * Loads a config for a command that only reads the ledger. No connector is loaded, so the options of the sources are not checked.
 *
 * @throws Fault like `loadConfig`
 */
export function loadLedgerConfig(options: LedgerLoadOptions): Promise<LedgerConfig> {
  return loadConfigWith(options, streamKeys);
}

/**
 * Loads the mappings of a config, for rows that are given. It needs no secret and no connector, and checks nothing else.
 *
 * @throws Fault like `loadConfig`
 */
export function loadMappingsConfig(options: Omit<LedgerLoadOptions, 'needs'>): Promise<MappingsConfig> {
  const needs: MappingNeeds = 'mappings';
  return loadConfigWith({ ...options, needs }, streamKeys);
}

async function streamKeys({
  isExpanded,
}: ReadSources): Promise<SourceSettings<{ streams: KeyedStream[] }, { streams: KeyedStream[] }>> {
  return {
    settingsOf(source, path, findings) {
      const streams = checkStreamKeys(source, path, { findings, isExpanded });
      return streams === undefined ? undefined : { streams };
    },
    loaded: (checked) => checked,
    addCauses: async () => undefined,
  };
}

/** The sources of a config file before they are checked. */
interface ReadSources {
  sources: readonly unknown[];
  folder: string;
  isExpanded: SettingsContext['isExpanded'];
}

/** What is done with the settings that the connectors of the sources know. */
interface SourceSettings<Checked, Loaded> {
  /** Checks the settings of a source; undefined if there is a problem. */
  settingsOf(source: Record<string, unknown>, path: readonly PathSegment[], findings: Findings): Checked | undefined;
  /** The part of the loaded source that has its settings. */
  loaded(
    checked: Checked,
    source: unknown,
    secretAt: (path: readonly PathSegment[], text: string) => SecretSource,
  ): Loaded;
  /** Reports what causes several of the problems. */
  addCauses(findings: Findings): Promise<void>;
}

async function connectorSettings<Connector extends ConnectorSchemas>(
  loader: ConnectorLoader<Connector>,
  { sources, folder, isExpanded }: ReadSources,
): Promise<
  SourceSettings<
    ConnectorSettings<Connector>,
    Pick<LoadedSource<Connector>, keyof ConnectorSettings<Connector> | 'readSettings'>
  >
> {
  const connectors = await loadNamed(sources, loader, folder);
  return {
    settingsOf: (source, path, findings) =>
      checkConnector(source, path, { connectors, connectorIds: loader.ids, findings, isExpanded }),
    loaded: (checked, source, secretAt) => ({
      ...checked,
      readSettings: createSettingsReader(source, checked, secretAt),
    }),
    addCauses: (findings) => addStreamsOfOtherConnectors(sources, { connectors, loader, folder, findings, isExpanded }),
  };
}

async function loadConfigWith<Checked, Loaded extends object>(
  options: Omit<LedgerLoadOptions, 'needs'> & { needs: Needs },
  settingsFor: (read: ReadSources) => Promise<SourceSettings<Checked, Loaded>>,
): Promise<Omit<LedgerConfig, 'sources'> & { sources: (LedgerSource & Loaded)[] }> {
  const { env, profilesDir, secrets } = options;
  const file = resolve(options.file);
  const folder = dirname(file);
  const document = parseDocumentText(await readConfigText(file));
  if (!document.ok) throw configFault(file, document.error);
  const files = new Set([file]);
  const onFile = (path: string) => files.add(path);
  const interpolated = leaveOutUnread(await interpolate(document.value.value, { env, folder, onFile }), options.needs);
  const { value, templates, problems } = interpolated;
  for (const secret of interpolated.secrets) secrets.add(secret);
  const resolvePath = (path: string): string => resolve(folder, path);
  const read = { document: document.value, value, templates, secrets };
  const findings = createFindings(read);
  for (const { path, message, cure } of problems) findings.addProblem(path, message, cure);

  addUrlPassword(value, secrets);
  addChannelSecrets(value, secrets);
  const isExpanded = (path: readonly PathSegment[]) => templates.has(JSON.stringify(path));
  const config = parseSettings(Config, value, { path: [], findings, isExpanded });
  const profile = await checkProfile(value, { folder, profilesDir, onFile }, findings);
  const given = sourcesIn(value);
  const ofSources = await settingsFor({ sources: given, folder, isExpanded });
  const settings = checkSources(
    value,
    { profile, findings, mayLackMappings: options.needs === 'unmapped_sources' },
    (source, path) => ofSources.settingsOf(source, path, findings),
  );
  checkPassports(value, findings);
  checkWeb(value, findings);
  checkQueuePassword(value, findings);
  checkChannels(value, findings);
  if (config === undefined || profile === undefined || findings.problems.length > 0) {
    const { compile = async () => [] } = options;
    const flaws = readableMappings(value, resolvePath).map((mappings) => compile(mappings, folder));
    addFlaws((await Promise.all(flaws)).flat(), findings);
    // A stream of another connector causes the problems of its options, so it is reported before them.
    const causes = createFindings(read);
    await ofSources.addCauses(causes);
    throw configFault(
      file,
      [...causes.problems, ...findings.problems].sort((a, b) => (a.line ?? 0) - (b.line ?? 0)),
    );
  }

  const secretAt = (path: readonly PathSegment[], text: string, store = secrets): SecretSource => {
    const template = templates.get(JSON.stringify(path)) ?? null;
    return createSecretSource({ env, folder, path: formatPath(path), template, value: text, secrets: store });
  };
  const addressStore: SecretStore = { ...secrets, add: (text) => addAddressSecrets(text, secrets) };
  const channelSecretAt = (path: readonly PathSegment[], text: string): SecretSource =>
    secretAt(path, text, path.at(-1) === 'url' ? addressStore : secrets);
  const lineOf = (path: string) => document.value.lineOf(segmentsOf(path));
  const { target, web } = config;
  return {
    file,
    digest: sha256Hex(JSON.stringify([document.value.value, profile])),
    files: [...files],
    programs: programsOf(config, resolvePath),
    folder,
    target: {
      baseUrl: target.baseUrl,
      apiKey: secretAt(['target', 'apiKey'], target.apiKey),
      publishKey: target.publishKey ? secretAt(['target', 'publishKey'], target.publishKey) : null,
      maxRate: target.maxRate ?? null,
      firstContact: target.firstContact,
      bom: target.bom,
    },
    profile,
    queue: withPassword(config.queue, config.queuePassword ?? ''),
    ledger: resolvePath(config.ledger),
    web: web ? loadedWeb(web, secretAt) : null,
    sources: config.sources.flatMap((source, index) => {
      const checked = settings[index];
      if (checked === undefined) return [];
      const secretOf = (path: readonly PathSegment[], text: string) => secretAt(['sources', index, ...path], text);
      const own = loadedSource(source, index, { resolvePath, lineOf });
      return [{ ...own, ...ofSources.loaded(checked, given[index], secretOf) }];
    }),
    passports: config.passports ?? null,
    observe: {
      traces:
        config.observe.traces === undefined
          ? null
          : {
              ...config.observe.traces,
              headers: Object.fromEntries(
                Object.entries(config.observe.traces.headers).map(([name, text]) => [
                  name,
                  secretAt(['observe', 'traces', 'headers', name], text),
                ]),
              ),
            },
    },
    alerts: loadedAlerts(config.alerts, { secretAt: channelSecretAt, resolvePath }),
    backups: config.backups ? { ...config.backups, folder: resolvePath(config.backups.folder) } : null,
    history: config.history,
    warnings: findings.warnings,
    resolvePath,
    scrub: (text) => secrets.scrub(text),
    scrubWhole: (text) => secrets.scrubWhole(text),
    hasSecret: (value) => secrets.isInValue(value),
  };
}

function programsOf({ sources, alerts }: Config, resolvePath: (path: string) => string): string[] {
  const connectors = sources.map(({ connector }) => connector).filter(isPathOfConnector);
  const modules = sources.flatMap(({ mappings }) => mappings.flatMap(({ module }) => module ?? []));
  const ofAlerts = (alerts?.channels ?? []).flatMap(({ exec }) => exec?.program ?? []);
  return [...new Set([...connectors, ...modules, ...ofAlerts].map(resolvePath))];
}

function loadedWeb(
  web: NonNullable<Config['web']>,
  secretAt: (path: readonly PathSegment[], text: string) => SecretSource,
): LoadedWeb {
  return {
    ...web,
    userHeader: web.userHeader ?? null,
    token: web.token === undefined ? null : secretAt(['web', 'token'], web.token),
    users: web.users.map(({ name, role, password }, index) => ({
      name,
      role,
      password: password === undefined ? null : secretAt(['web', 'users', index, 'password'], password),
    })),
  };
}

/** @throws Fault `config.missing` or `config.invalid` for a file that cannot be read as text */
export async function readConfigText(file: string): Promise<string> {
  const content = await readBoundedFile(file, CONFIG_BYTES_MAX);
  if (content.ok) return content.value;
  const { kind, reason } = content.error;
  if (kind === 'unfit') throw configFault(file, [{ path: '', line: null, message: `the file ${reason}` }]);
  const what = kind === 'missing' ? 'There is no config file' : `The config file ${reason}`;
  throw fault('config.missing', `${what}: ${file}.`, {
    suggestion:
      'Name the config with -c FILE. `dpp-sync init` writes an example, and `dpp-sync init --from FILE` a config for an exported file. `dpp-sync demo` needs no config.',
  });
}

function withPassword(queue: QueueSetting, password: string): QueueSetting {
  if (queue.kind === 'embedded' || password === '') return queue;
  const url = new URL(queue.url);
  url.password = encodeURIComponent(password);
  return { kind: 'redis', url: url.href };
}

/**
 * Besides the secret fields, only a URL usually contains a credential. It is registered in its written form and in its
 * decoded form.
 */
function addUrlPassword(value: unknown, secrets: SecretStore): void {
  const queue = isJsonObject(value) ? value['queue'] : undefined;
  const password = typeof queue === 'string' ? (URL.parse(queue)?.password ?? '') : '';
  secrets.add(password);
  secrets.add(new URLSearchParams(`p=${password.replaceAll('+', '%2B')}`).get('p') ?? '');
}

async function checkProfile(
  value: unknown,
  where: { folder: string; profilesDir: string; onFile: (path: string) => void },
  findings: Findings,
): Promise<Profile | undefined> {
  const path = ['target', 'profile'];
  const target = isJsonObject(value) ? value['target'] : undefined;
  const name = (isJsonObject(target) ? target['profile'] : undefined) ?? 'default';
  if (typeof name !== 'string' || name === '' || findings.has(path)) return undefined;
  const profile = await loadProfile({ name, ...where });
  if (profile.ok) return profile.value;
  for (const problem of profile.error) findings.addProblem(path, problem);
  return undefined;
}

function loadedPause({ from, to, days, timezone }: SourceConfig['pause'][number], ofSource: string): LoadedPause {
  const isOn = days === undefined ? null : days.map((day) => WEEKDAYS.indexOf(day));
  return { fromMinute: from, toMinute: to, days: isOn, timezone: timezone ?? ofSource };
}

function loadedSource(
  source: SourceConfig,
  index: number,
  { resolvePath, lineOf }: { resolvePath: (path: string) => string; lineOf: LedgerSource['lineOf'] },
): LedgerSource {
  const {
    id,
    connector,
    schedule,
    timezone,
    watch,
    pause,
    omit,
    onMissing,
    guard,
    approve,
    snapshotEvery,
    lookups,
    units,
  } = source;
  const path = `sources[${index}]`;
  const mappings = source.mappings.map((mapping, at) => loadedMapping(mapping, `${path}.mappings[${at}]`, resolvePath));
  const snapshotEveryMs = snapshotEvery;
  return {
    id,
    connectorName: connector,
    schedule: schedule ?? null,
    timezone,
    watch,
    pauses: pause.map((one) => loadedPause(one, timezone)),
    omit,
    mappings,
    lookups: loadedLookups(lookups),
    units,
    onMissing,
    guard,
    approve: approve ?? null,
    snapshotEveryMs,
    path,
    lineOf,
  };
}
