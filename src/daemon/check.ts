import type { ApiClient } from '../api/api-client.ts';
import type { SecretSource } from '../config/interpolate.ts';
import { fault } from '../domain/faults.ts';
import type { Mapper } from '../domain/mapping.ts';
import type { ContactList } from '../domain/ports/ledger/contact-ledger.ts';
import type { StreamReads } from '../domain/ports/source.ts';
import type { Probe } from '../domain/ports/target.ts';
import { type IdentifyingMapping, type StreamIdentity, wasChosenAmong } from '../domain/record.ts';
import { assertOpenable } from '../ledger/assert-openable.ts';
import type { Clock } from '../lib/clock.ts';
import { Fault, fileReasonOf, messageOf, sentence } from '../lib/errors.ts';
import { assertMayFill } from '../lib/files.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { maskSecret, type SecretStore } from '../lib/logging/secrets.ts';
import { deniedFault } from '../operations/outcome-fault.ts';
import { likelyMisspelt, neededColumns, withoutColumn } from '../pipeline/column-check.ts';
import { probeRedis } from '../queue/redis-backend.ts';
import { tryChannels } from './alerts.ts';
import { openClient, openGate } from './open-client.ts';
import { createMappers, type Mappers } from './sources/mappers.ts';
import { checkStream, type RuntimeConfig } from './sources/open-source.ts';

/** The result of `check` for one stream. */
export interface StreamFinding {
  source: string;
  stream: string;
  /** Describes the stream in a line; null if it cannot be read. */
  found: string | null;
  /** What identifies the rows of a stream without `key`; null if that needs no word, or if the stream cannot be read. */
  identity: string | null;
  /**
   * What may be wrong although the stream can be read: a stream without records whose files have other content, and
   * names in mappings that look like misspelt ones. Such names may be correct, because rows of documents need not have
   * all members.
   */
  warnings: string[];
  problem: Fault | null;
}

/** The result of `check` for the queue. */
export interface QueueFinding {
  kind: RuntimeConfig['queue']['kind'];
  /** Describes the queue in a line; null if it cannot be reached. */
  found: string | null;
  /** Settings of the queue with which jobs can be lost. */
  warnings: string[];
  problem: Fault | null;
}

/** The result of `check` for a list of the platform. */
export interface ListFinding {
  list: ContactList;
  /** Why the list cannot be read; null if it can. */
  unreadable: string | null;
}

/** The result of `check` for the API. */
export interface ApiFinding {
  baseUrl: string;
  /** The key's first 8 characters; null if it cannot be read. */
  key: string | null;
  publishKey: string | null;
  /** Whether the organisation's plan includes API access; null if the API gave no answer. */
  plan: Probe['plan'] | null;
  /** Null if the API gave no answer. */
  scopes: Probe['scopes'] | null;
  /** The lists that the first contact reads. Empty if the API was not asked for them. */
  lists: ListFinding[];
  /** The problem that would stop a sync; null if there is none. */
  problem: Fault | null;
}

/** The result of `check` for a channel of the alerts. */
export interface ChannelFinding {
  channel: string;
  type: string;
  problem: Fault | null;
}

export interface CheckOptions {
  config: RuntimeConfig;
  secrets: SecretStore;
  clock: Clock;
  log: Logger;
  version: string;
  signal: AbortSignal;
}

/**
 * Compiles every mapping.
 *
 * @throws Fault `mapping.invalid` with every problem
 */
export async function checkMappings(config: RuntimeConfig): Promise<Mappers> {
  const mappers = createMappers({ sources: () => config.sources, file: config.file, profile: config.profile });
  await mappers.refreshAll();
  return mappers;
}

/** What `check` needs to know to describe the identity of rows. */
export interface Identities {
  mappers: Mappers;
  /** The identity that the ledger has stored for a stream. */
  storedOf: (source: string, stream: string) => Promise<StreamIdentity | null>;
}

/** Tries every stream of every source. A failed stream does not stop the others. */
export async function* checkStreams(
  { config, log, signal }: CheckOptions,
  { mappers, storedOf }: Identities,
): AsyncGenerator<StreamFinding> {
  for (const source of config.sources) {
    const unread = new Set(source.streams);
    const seen = new Set<string>();
    for (const stream of source.streams) {
      const place = { source: source.id, stream: stream.name };
      try {
        const {
          found,
          columns = [],
          warnings: ofStream = [],
          reads,
        } = await checkStream(source, stream, { config, log, signal });
        const isTable = source.connector.fixedColumns === true || columns.length === 0;
        for (const column of columns) seen.add(column);
        if (columns.length > 0) unread.delete(stream);
        const isLast = unread.size === 0 && stream === source.streams.at(-1);
        const needed = isTable ? [] : neededColumns(source, stream, config.sources);
        const mapper = stream.key.length === 0 ? mappers.of(source.id) : null;
        const stored = await storedOf(source.id, stream.name);
        const identity = mapper && rowIdentityOf({ name: stream.name, reads }, { mapper, stored });
        const warnings = [
          ...ofStream,
          ...likelyMisspelt(needed, columns),
          ...(isLast ? withoutColumn(source, [...seen], source.connector.fixedColumns === true) : []),
          ...(identity?.isWeak ? [identity.text] : []),
        ];
        const identifies = identity === null || identity.isWeak ? null : identity.text;
        yield { ...place, found, identity: identifies, warnings, problem: null };
      } catch (error) {
        // The stream is not at fault if the command was stopped.
        signal.throwIfAborted();
        yield {
          ...place,
          found: null,
          identity: null,
          warnings: [],
          problem: asFault(error, 'source.unreadable', stream.path),
        };
      }
    }
  }
}

/** Why a sync of this user could not open the ledger; null if it could, or would make it. Changes nothing. */
export function checkLedger({ ledger, target }: RuntimeConfig): Fault | null {
  try {
    assertOpenable({ file: ledger, target: target.baseUrl });
    return null;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

/** Why the daemon could make no backups; null if it could, or if it makes none. Changes nothing. */
export function checkBackups({ backups }: RuntimeConfig): Fault | null {
  if (backups === null) return null;
  try {
    assertMayFill(backups.folder);
    return null;
  } catch (error) {
    return fault('ledger.unwritable', `No backups can be made in ${backups.folder}: ${fileReasonOf(error)}.`, {
      path: 'backups.folder',
      suggestion: 'Let the user of the daemon write to the folder, or name another folder.',
      cause: error,
    });
  }
}

/** Connects to the queue and leaves nothing in it. */
export async function checkQueue({ queue }: RuntimeConfig): Promise<QueueFinding> {
  if (queue.kind === 'embedded')
    return { kind: 'embedded', found: 'embedded, in the process', warnings: [], problem: null };
  try {
    const { place, version, warnings } = await probeRedis(queue.url);
    return { kind: queue.kind, found: `${place}: Redis ${version ?? ''}`.trim(), warnings, problem: null };
  } catch (error) {
    return { kind: queue.kind, found: null, warnings: [], problem: asFault(error, 'queue.unreachable', 'queue') };
  }
}

/** Asks the API what the keys may do, without writing anything. Needs no ledger. */
export async function checkApi({ config, secrets, clock, log, version, signal }: CheckOptions): Promise<ApiFinding> {
  const { baseUrl, apiKey, publishKey } = config.target;
  const finding: ApiFinding = {
    baseUrl,
    key: null,
    publishKey: null,
    plan: null,
    scopes: null,
    lists: [],
    problem: null,
  };
  try {
    finding.key = await prefixOf(apiKey);
    finding.publishKey = publishKey === null ? null : await prefixOf(publishKey);
    const client = openClient(config, { secrets, clock, log, version, pacing: openGate(config, { clock }) });
    try {
      const { denied, plan, scopes } = await client.target.probe(signal);
      const denial = denied === null ? scopeProblem(scopes) : deniedFault(denied, apiKey);
      if (denial !== null) return { ...finding, plan, scopes, problem: denial };
      const lists = await readLists(client, config, signal);
      return { ...finding, plan, scopes, lists, problem: absentProblem(config, { scopes, lists }) };
    } finally {
      await client.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    return { ...finding, problem: asFault(error, 'api.unreachable', 'target.baseUrl') };
  }
}

/** Checks whether each channel of the alerts could send, without sending. */
export async function checkAlertChannels({ config, clock, signal }: CheckOptions): Promise<ChannelFinding[]> {
  const tests = await tryChannels(config, 'check', { clock, signal });
  return tests.map(({ channel, type, error }, index) => {
    const path = `alerts.channels[${index}]`;
    return { channel, type, problem: error === null ? null : fault('alerts.channel', error, { path }) };
  });
}

async function prefixOf(key: SecretSource): Promise<string> {
  return maskSecret(await key.read());
}

/** Only publishing needs the scope `publish`: without it all other writes are synced. */
function scopeProblem({ read, write }: Probe['scopes']): Fault | null {
  const missing = [...(read === 'no' ? ['read'] : []), ...(write === 'no' ? ['write'] : [])];
  if (missing.length === 0) return null;
  const named = missing.join(' and ');
  return fault('api.key', `The API key lacks the scope${missing.length === 1 ? '' : 's'} ${named}.`, {
    path: 'target.apiKey',
    suggestion: 'Create a key with the scopes read and write. If it has to publish passports, add the scope publish.',
  });
}

/** Tries to read the lists that the first contact of this config would read. */
async function readLists(
  client: ApiClient,
  { sources, passports }: RuntimeConfig,
  signal: AbortSignal,
): Promise<ListFinding[]> {
  // A module may make any items.
  const hasMaterials = sources.some(({ mappings }) => mappings.some(({ to }) => to === 'material' || to === undefined));
  const needed: ContactList[] = ['product'];
  if (hasMaterials) needed.push('material');
  if (passports) needed.push('publication');
  const found: ListFinding[] = [];
  for (const list of needed) found.push({ list, unreadable: await client.whyUnreadable(list, signal) });
  return found;
}

/** The problem if no answer has come from the API, or if a list that is needed cannot be read. */
function absentProblem(
  { target }: RuntimeConfig,
  { scopes, lists }: { scopes: Probe['scopes']; lists: readonly ListFinding[] },
): Fault | null {
  const unread = lists.filter(({ unreadable }) => unreadable !== null);
  const [first] = unread;
  if (first === undefined) return null;
  const seen = `The list of ${LIST_WORDS[first.list]} cannot be read: ${sentence(first.unreadable ?? '')}`;
  const hasSign = unread.length < lists.length || Object.values(scopes).some((answer) => answer !== 'unknown');
  if (!hasSign) {
    return fault('api.unreachable', `No answer shows that the API of the platform is at ${target.baseUrl}. ${seen}`, {
      path: 'target.baseUrl',
      suggestion: 'Correct target.baseUrl: the paths of the API, such as /api/products/, are appended to it.',
    });
  }
  if (target.firstContact === 'assume-empty') return null;
  return fault('api.unreachable', `${seen} Nothing is created before the list can be read.`, {
    path: 'target.baseUrl',
    suggestion:
      'Correct the cause that the message names. If the platform has no such list, and none of your items, set `target.firstContact: assume-empty`.',
  });
}

const LIST_WORDS: Record<ContactList, string> = {
  product: 'products',
  material: 'materials',
  publication: 'publications',
};

function asFault(
  error: unknown,
  code: 'source.unreadable' | 'queue.unreachable' | 'api.unreachable',
  path: string,
): Fault {
  return error instanceof Fault ? error : fault(code, messageOf(error), { path, cause: error });
}

/** What identifies the rows of a stream without `key`, for people. */
export interface RowIdentity {
  text: string;
  /** True if a row that changes counts as another row, so that a person should name key columns. */
  isWeak: boolean;
}

const EFFECT = 'So a row that changes counts as a new row.';
const CURE = 'Name the columns that identify a row in `key` of the stream: the stored rows keep their items then.';

/** Null for a stream from which no mapping makes items: its rows need no identity. */
function rowIdentityOf(
  { name, reads }: { name: string; reads: StreamReads },
  { mapper, stored }: { mapper: Mapper; stored: StreamIdentity | null },
): RowIdentity | null {
  if (!mapper.streams.includes(name)) return null;
  const own = mapper.identifying?.byStream.get(name) ?? [];
  const weak = (why: string, effect = EFFECT): RowIdentity => ({
    text: `The content of a row identifies it, because ${why}. ${effect} ${CURE}`,
    isWeak: true,
  });
  if (own.length === 0) return weak('no mapping of the stream has one key for each row that depends on the row alone');
  if (stored?.by === 'mappings' && wasChosenAmong(stored, own)) {
    const chosen = own.filter(({ expressions }) => stored.mappings.includes(expressions));
    if (chosen.length === 0) {
      const why = `no key was unique in the complete read that has decided: ${listOf(own)}`;
      return weak(
        why,
        'The next run chooses a key by which all rows that make items differ. Without one, a row that changes counts as a new row.',
      );
    }
    return { text: `A row is identified by ${keyWords(chosen)}.`, isWeak: false };
  }
  if (reads === 'changes')
    return weak('the stream gives changes only, and no complete read shows whether a key is unique');
  return {
    text: `The next complete read decides what identifies a row: of ${listOf(own)}, the first key that is unique, or else the content of the row.`,
    isWeak: false,
  };
}

function keyWords(mappings: readonly IdentifyingMapping[]): string {
  return mappings.length === 1 ? `the key of ${listOf(mappings)}` : `the first key that it has: ${listOf(mappings)}`;
}

function listOf(mappings: readonly IdentifyingMapping[]): string {
  return mappings.map(({ path, key }) => `${path} (${key})`).join(', ');
}
