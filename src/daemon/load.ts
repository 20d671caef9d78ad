import { join } from 'node:path';
import type { MappingFlaw } from '../config/checks/findings.ts';
import { processEnvironment } from '../config/environment.ts';
import type { LedgerNeeds, SourceNeeds } from '../config/interpolate.ts';
import { loadConfig, loadLedgerConfig, loadMappingsConfig } from '../config/load-config.ts';
import type { LedgerConfig, MappingsConfig, ReadableMappings } from '../config/loaded-config.ts';
import { fault } from '../domain/faults.ts';
import type { MappingDefinition } from '../domain/mapping.ts';
import { withoutAbsent } from '../lib/collections.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { findPackage } from '../lib/package.ts';
import { connectorLoader, provideSdk } from './sources/load-connector.ts';
import type { RuntimeConfig } from './sources/open-source.ts';
import { safeConnectors, unsafePrograms } from './unsafe-files.ts';

/**
 * Loads a config file with the connectors and profiles of this package.
 *
 * @throws Fault `config.missing` or `config.invalid`
 */
export function loadRuntimeConfig(
  file: string,
  secrets: SecretStore,
  needs: SourceNeeds = 'all',
): Promise<RuntimeConfig> {
  return loadConfig({ ...surroundings(), file, connectors: connectorLoader, secrets, needs, compile });
}

/**
 * Loads a config file for a command that only reads the ledger, without the connectors.
 *
 * @throws Fault `config.missing` or `config.invalid`
 */
export function loadConfigOfLedger(file: string, secrets: SecretStore, needs: LedgerNeeds): Promise<LedgerConfig> {
  return loadLedgerConfig({ ...surroundings(), file, secrets, needs, compile });
}

/**
 * Loads the mappings of a config file, for rows that are given.
 *
 * @throws Fault `config.missing` or `config.invalid`
 */
export function loadConfigOfMappings(file: string, secrets: SecretStore): Promise<MappingsConfig> {
  return loadMappingsConfig({ ...surroundings(), file, secrets, compile });
}

/**
 * Does the same in a daemon. Like a reload, this runs no mapping module that everybody may change.
 *
 * @throws Fault `config.missing`, or `config.invalid`, also for such a module
 */
export async function reloadConfigOfMappings(file: string, secrets: SecretStore): Promise<MappingsConfig> {
  const config = await loadMappingsConfig({ ...surroundings(), file, secrets, compile: compileSafe });
  const programs = config.sources.flatMap(({ mappings }) => modulesOf(mappings));
  const refusals = await unsafePrograms({ programs });
  if (refusals.length > 0) throw fault('config.invalid', refusals.join(' '));
  return config;
}

function surroundings() {
  return { env: processEnvironment(), profilesDir: join(findPackage().root, 'config', 'profiles') };
}

/**
 * Loads the config of a daemon again. Runs no connector or mapping module that everybody may change; see
 * `unsafePrograms` for the programs of the config that this function returns.
 *
 * @param config the present config
 */
export function reloadRuntimeConfig(config: RuntimeConfig, secrets: SecretStore): Promise<RuntimeConfig> {
  return loadConfig({
    ...surroundings(),
    file: config.file,
    connectors: safeConnectors(connectorLoader, () => config.programs),
    secrets,
    compile: compileSafe,
  });
}

function modulesOf(mappings: readonly MappingDefinition[]): string[] {
  return mappings.flatMap(({ module }) => module ?? []);
}

/** Compiles mappings, but none with a module that everybody may change. */
async function compileSafe(mappings: ReadableMappings, baseDir: string): Promise<MappingFlaw[]> {
  const refusals = await unsafePrograms({ programs: modulesOf(mappings.definitions) });
  return refusals.length > 0 ? [] : compile(mappings, baseDir);
}

/** Most commands only need the config, so the compiler is loaded only to describe problems of mappings. */
async function compile(mappings: ReadableMappings, baseDir: string): Promise<MappingFlaw[]> {
  provideSdk();
  const { compileMappings } = await import('../pipeline/mapping/compile-mappings.ts');
  const { describeProblem } = await import('../pipeline/mapping/mapping-error.ts');
  const compiled = await compileMappings({ ...mappings, baseDir });
  if (compiled.ok) return [];
  return compiled.error.map((problem) => {
    const { path, cure } = problem;
    return withoutAbsent({ path, message: describeProblem(problem), cure });
  });
}
