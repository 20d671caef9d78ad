import type { RuntimeConfig } from '../sources/open-source.ts';

/**
 * The settings that differ between two configs, as paths in the config. A secret counts only if the config itself
 * contains it.
 */
export function changedSettings(before: RuntimeConfig, after: RuntimeConfig): string[] {
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
