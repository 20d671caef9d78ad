// Replaces the settings of a daemon between two units of work. A reload reads and compiles everything first. All
// settings are replaced at once if all are valid; otherwise none is replaced. If a run of a source is under way, its
// settings are replaced after the run, so that a run ends with the mapping with which it began.

import { stat } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { formatProblem, problemsOf } from '../../config/problem.ts';
import { heldText } from '../../domain/approval.ts';
import { fault } from '../../domain/faults.ts';
import type { Mapper } from '../../domain/mapping.ts';
import type { CareLedger, ReloadStatus } from '../../domain/ports/ledger/care-ledger.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { Clock } from '../../lib/clock.ts';
import { Fault, messageOf, sentence } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { Reloaded } from '../../operations/runtime.ts';
import { lookupDigests } from '../plan/basis.ts';
import type { ConfigEffects } from '../plan/effects.ts';
import type { ReloadCause } from '../runtime.ts';
import { isSameMapping, type Mappers } from '../sources/mappers.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import { unsafeFileWarnings, unsafePrograms } from '../unsafe-files.ts';

export interface ReloadOptions {
  /** The settings in use. A reload changes this object. */
  config: RuntimeConfig;
  /** The mappers in use, whose files are watched. */
  mappers: Mappers;
  ledger: Pick<CareLedger, 'noteDaemon'>;
  emit: Emit;
  /** Reads the config again. */
  load: () => Promise<RuntimeConfig>;
  /**
   * Replaces the settings by those of a valid config.
   *
   * @returns the changed secrets, as paths in the config, and the sources whose run has to end first
   */
  replace: (
    next: RuntimeConfig,
    mappers: ReadonlyMap<string, Mapper>,
  ) => Promise<{ secrets: string[]; after: string[] }>;
  /** Tries a config on a copy of the ledger. */
  weigh: (next: RuntimeConfig) => Promise<ConfigEffects>;
  clock: Clock;
  log: Logger;
}

/** A refused config is read again after this time: the missing part may be in a file that is not watched. */
const AGAIN_MS = 30_000;

export function createReload(options: ReloadOptions) {
  const { config, mappers: inUse, ledger, emit, load, clock, log } = options;
  const watch = createFileWatch(clock);
  const listeners = new Set<() => void>();
  let last: ReloadStatus | null = null;
  let isInvalid = false;
  /** The config that waits for a person, with what it would change. */
  let heldMark: string | null = null;
  let running: Promise<unknown> = Promise.resolve();

  const filesInUse = (): string[] => [
    ...new Set([...config.files, ...config.sources.flatMap(({ id }) => inUse.of(id)?.files ?? [])]),
  ];

  /** Counts the result of a reload, and stores it for `status`. */
  async function report(status: ReloadStatus): Promise<void> {
    emit({ type: 'reload', ok: status.ok });
    try {
      await ledger.noteDaemon('reload', status);
    } catch (error) {
      log.warn({ error: messageOf(error) }, `\`status\` does not show this reload: ${messageOf(error)}`);
    }
  }

  async function refuse(errors: string[], cause: ReloadCause): Promise<Reloaded> {
    const isNews = last === null || last.ok || last.errors.join('\n') !== errors.join('\n') || cause !== 'file';
    last = { at: clock.now(), ok: false, errors };
    if (isNews) {
      log.error({ cause, errors }, `The config was refused, and the former settings stay in use: ${errors.join(' ')}`);
      await report(last);
    }
    return { ...last, changed: [], after: [], effects: null, publicPassports: 0 };
  }

  async function readAll(): Promise<{ next: RuntimeConfig; mappers: ReadonlyMap<string, Mapper> } | string[]> {
    try {
      const next = await load();
      const unsafe = await unsafePrograms(next);
      if (unsafe.length > 0) return unsafe;
      return { next, mappers: await inUse.compile(next.sources) };
    } catch (error) {
      return errorsOf(error);
    }
  }

  /** Keeps the former settings until a person has approved what the config would change. */
  async function hold(weighed: ConfigEffects, mark: string, cause: ReloadCause): Promise<Reloaded> {
    const message = `The changed config would make ${heldText(weighed)} from the stored rows, so it waits for a person. ${HELD_CURE}`;
    const isNews = heldMark !== mark || cause !== 'file';
    heldMark = mark;
    isInvalid = true;
    last = { at: clock.now(), ok: false, held: true, errors: [message] };
    if (isNews) {
      log.warn({ cause, effects: weighed.effects }, `The former settings stay in use. ${message}`);
      await report(last);
    }
    const { effects, publicPassports } = weighed;
    return { ...last, changed: [], after: [], effects, publicPassports };
  }

  /** What the config would change; null if nobody asks, or if the rows cannot be affected. */
  async function weighed(next: RuntimeConfig, changed: readonly string[], cause: ReloadCause) {
    const isBounded = next.sources.some(({ approve }) => approve !== null);
    const isAboutRows = changed.some((setting) => setting === 'passports' || setting.startsWith('sources.'));
    if (!isAboutRows || (cause !== 'person' && !isBounded)) return null;
    try {
      return await options.weigh(next);
    } catch (error) {
      if (isBounded) throw error;
      log.warn({ error: messageOf(error) }, `It is not known what the config changes: ${messageOf(error)}`);
      return null;
    }
  }

  async function reloadNow(cause: ReloadCause, accept: boolean): Promise<Reloaded> {
    // The state is remembered before the read, so that a file that changes during the read counts as changed.
    await watch.note(filesInUse());
    const read = await readAll();
    isInvalid = Array.isArray(read);
    if (Array.isArray(read)) return await refuse(read, cause);
    const { next, mappers } = read;
    await watch.also([...next.files, ...[...mappers.values()].flatMap(({ files = [] }) => files)]);
    const refusals = restartNeeded(config, next);
    if (refusals.length > 0) return await refuse(refusals, cause);

    const changed = changedSettings(config, next);
    for (const [id, mapper] of mappers) {
      const before = inUse.of(id);
      if (before !== null && !isSameMapping(before, mapper) && !changed.includes(`sources.${id}`))
        changed.push(`sources.${id}`);
    }
    const effect = await weighed(next, changed, cause);
    if (effect !== null && effect.excesses.length > 0) {
      const mark = markOf(next, mappers, effect);
      // A person approves what was shown, and no other config.
      if (!accept || heldMark !== mark) return await hold(effect, mark, cause);
    }
    heldMark = null;
    const wasRefused = last !== null && !last.ok;
    const { secrets, after } = await options.replace(next, mappers);
    for (const listener of listeners) listener();
    changed.push(...secrets);
    const status: ReloadStatus = { at: clock.now(), ok: true, errors: [] };
    last = status;
    if (changed.length > 0 || wasRefused || cause !== 'file') {
      const warnings = [...next.warnings, ...(await unsafeFileWarnings(next))];
      for (const warning of warnings) log.warn({ cause }, formatProblem(warning));
      log.info({ cause, changed, after }, messageFor(changed, after));
      await report(status);
    }
    const { effects = null, publicPassports = 0 } = effect ?? {};
    return { ...status, changed, after, effects, publicPassports };
  }

  function reload(cause: ReloadCause, accept = false): Promise<Reloaded> {
    // Reloads run one after the other. Each reload reads the files in their state at its beginning.
    const next = running.then(() => reloadNow(cause, accept));
    running = next.catch(() => undefined);
    return next;
  }

  async function look(): Promise<void> {
    await running;
    if (await watch.changed()) await reload('file');
  }

  return {
    reload,
    /** Reloads at once if one of the files has changed. Call it before stored or new records are mapped. */
    look,
    /**
     * Reloads if a file has changed, and then checks that the present files are in use.
     *
     * @throws Fault `config.invalid` if they are not, because a person who has just corrected a file expects that it is
     * used
     */
    async lookStrictly(): Promise<void> {
      await look();
      if (last === null || last.ok || !isInvalid) return;
      throw fault('config.invalid', `The config was refused: ${last.errors.join(' ')}`, {
        suggestion: last.held
          ? HELD_CURE
          : 'Correct the config, and try again. Until then the former settings stay in use.',
      });
    },
    last: () => last,
    /** Calls the listener after each reload that replaced settings. */
    onReplaced: (listener: () => void): void => void listeners.add(listener),
    /** Watches the files until the signal aborts. */
    async follow(signal: AbortSignal): Promise<void> {
      await watch.note(filesInUse());
      if (await haveFilesChanged()) await reloadQuietly();
      await Promise.all([watch.follow(reloadQuietly, signal), retryRefused(signal)]);
    },
  };

  /**
   * True if the files differ from those with which the daemon was started. They may have changed before their state was
   * remembered.
   */
  async function haveFilesChanged(): Promise<boolean> {
    // The daemon was started with programs that a reload refuses, so they have not come by a change.
    if ((await unsafePrograms(config)).length > 0) return false;
    const read = await readAll();
    if (Array.isArray(read)) return true;
    const { next, mappers } = read;
    return (
      next.digest !== config.digest || [...mappers].some(([id, { revision }]) => inUse.of(id)?.revision !== revision)
    );
  }

  async function reloadQuietly(): Promise<void> {
    try {
      await reload('file');
    } catch (error) {
      log.error({ err: error }, `The config could not be reloaded: ${messageOf(error)}`);
    }
  }

  async function retryRefused(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(AGAIN_MS, signal);
      if (!signal.aborted && last !== null && !last.ok && !last.held) await reloadQuietly();
    }
  }
}

const HELD_CURE =
  'Approve it with `dpp-sync reload --accept`, or correct it. `dpp-sync plan --stored` shows each item that it would change.';

/** A digest of a config with its mappings and lookup files, and of what it would change. */
function markOf(next: RuntimeConfig, mappers: ReadonlyMap<string, Mapper>, { effects }: ConfigEffects): string {
  const used = Array.from(mappers, ([id, { revision, lookups = [] }]) => [id, revision, lookupDigests(id, lookups)]);
  return sha256Hex(JSON.stringify([next.digest, used, effects]));
}

function messageFor(changed: readonly string[], after: readonly string[]): string {
  if (changed.length === 0) return 'The config was reloaded: nothing has changed.';
  const later = after.length === 0 ? '' : ` ${after.join(', ')} is used when the current run has ended.`;
  return `The config was reloaded. Changed: ${changed.join(', ')}.${later}`;
}

/** The problems of a config and of its mappings, or the error because of which the config could not be read. */
function errorsOf(error: unknown): string[] {
  const problems = problemsOf(error);
  if (problems.length > 0) return problems.map(formatProblem);
  const lines = messageOf(error).split('\n');
  const suggestion = error instanceof Fault && error.suggestion !== undefined ? ` ${error.suggestion}` : '';
  return [`${sentence(lines.join(' '))}${suggestion}`];
}

/**
 * The settings that differ between two configs, as paths in the config. A secret counts only if the config itself
 * contains it.
 */
function changedSettings(before: RuntimeConfig, after: RuntimeConfig): string[] {
  const parts = (config: RuntimeConfig): Map<string, string> =>
    new Map([
      ['target.maxRate', textOf(config.target.maxRate)],
      ['web', textOf(config.web)],
      ['passports', textOf(config.passports)],
      ['backups', textOf(config.backups)],
      ['history', textOf(config.history)],
      ...config.sources.map((source): [string, string] => [`sources.${source.id}`, textOf(source)]),
    ]);
  const [old, present] = [parts(before), parts(after)];
  const known = ['target', 'passports', 'backups', 'history', 'sources', 'web', 'profile', 'ledger', 'queue', ...META];
  const others = (config: RuntimeConfig) => Object.entries(config).filter(([name]) => !known.includes(name));
  for (const [name, value] of others(before)) old.set(name, textOf(value));
  for (const [name, value] of others(after)) present.set(name, textOf(value));
  return [...new Set([...old.keys(), ...present.keys()])].filter((name) => old.get(name) !== present.get(name));
}

/** Properties of a config object that are not settings. */
const META = ['file', 'files', 'programs', 'digest', 'folder', 'warnings', 'resolvePath', 'scrub'];

/**
 * Connectors are compared by their ids. Functions are left out: a changed secret is no changed setting, because its
 * function reads the file at each call.
 */
function textOf(value: unknown): string {
  const text = JSON.stringify(value, (key, member: unknown) =>
    key === 'connector' && typeof member === 'object' && member !== null && 'id' in member ? member.id : member,
  );
  return text ?? '';
}

/** Each changed setting that cannot be replaced while the daemon runs, as a full sentence. */
function restartNeeded(present: RuntimeConfig, next: RuntimeConfig): string[] {
  const pairs: [path: string, before: unknown, after: unknown][] = [
    ['ledger', present.ledger, next.ledger],
    ['queue', present.queue, next.queue],
    ['target.baseUrl', present.target.baseUrl, next.target.baseUrl],
    ['target.profile', present.profile, next.profile],
    ['target.firstContact', present.target.firstContact, next.target.firstContact],
    ['target.bom', present.target.bom, next.target.bom],
    ['target.publishKey', present.target.publishKey === null, next.target.publishKey === null],
    ['observe.traces', tracesOf(present), tracesOf(next)],
    ['web', addressOf(present), addressOf(next)],
  ];
  return pairs
    .filter(([, before, after]) => !isDeepStrictEqual(before, after))
    .map(
      ([path]) =>
        `${path}: This value has changed, but the daemon keeps the value with which it was started. Restart the daemon, or undo this change.`,
    );
}

function tracesOf({ observe: { traces } }: RuntimeConfig): unknown {
  return traces === null ? null : { ...traces, headers: Object.keys(traces.headers) };
}

function addressOf({ web }: RuntimeConfig): unknown {
  return web === null ? null : { host: web.host, port: web.port };
}

/** Finds out whether the token of the dashboard has changed since the last call. Keeps only its hash. */
export function createTokenWatch(config: RuntimeConfig): { isNew(): Promise<boolean> } {
  let known: string | null = null;
  return {
    async isNew() {
      const present = config.web?.token ? sha256Hex(await config.web.token.read()) : null;
      const isNew = present !== known;
      known = present;
      return isNew;
    },
  };
}

const LOOK_MS = 1000;

/**
 * Checks the files once a second. This finds changes that notifications of the system miss: a file that an editor
 * replaces, the symbolic links of a mounted ConfigMap, and a folder of another machine. Reads the metadata of the
 * files, not their content.
 */
function createFileWatch(clock: Clock) {
  let known = new Map<string, string>();

  async function look(files: Iterable<string>): Promise<Map<string, string>> {
    return new Map(await Promise.all([...files].map(async (file) => [file, await factsOf(file)] as const)));
  }

  async function different(): Promise<string | null> {
    const present = await look(known.keys());
    const isKnown = [...present].every(([file, facts]) => known.get(file) === facts);
    return isKnown ? null : [...present.values()].join(' ');
  }

  return {
    /** Remembers the present state of the files. Call it before the files are read. */
    async note(files: readonly string[]): Promise<void> {
      known = await look(files);
    },
    /** Watches these files from now on. The remembered state of a file that is already watched does not change. */
    async also(files: readonly string[]): Promise<void> {
      const fresh = await look(files.filter((file) => !known.has(file)));
      known = new Map(files.map((file) => [file, known.get(file) ?? fresh.get(file) ?? '']));
    },
    /** True if a file has appeared, gone or changed since its state was remembered. */
    changed: async (): Promise<boolean> => (await different()) !== null,
    /** Calls `onChange` whenever files have changed and then did not change for one interval. Ends with the signal. */
    async follow(onChange: () => Promise<void>, signal: AbortSignal): Promise<void> {
      let before: string | null = null;
      while (!signal.aborted) {
        await clock.sleep(LOOK_MS, signal);
        if (signal.aborted) return;
        const present = await different();
        // A file that is still being written changes between two checks.
        if (present !== null && present === before) await onChange();
        before = present;
      }
    },
  };
}

/** Follows symbolic links. A file that was written again has another inode, size or time. */
async function factsOf(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(':');
  } catch {
    // The reload reports why the file cannot be read.
    return 'absent';
  }
}
