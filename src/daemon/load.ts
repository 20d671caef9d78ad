import { join } from 'node:path';
import type { MappingFlaw } from '../config/checks/findings.ts';
import { processEnvironment } from '../config/environment.ts';
import type { LedgerNeeds, SourceNeeds } from '../config/interpolate.ts';
import { loadConfig, loadLedgerConfig, loadMappingsConfig } from '../config/load-config.ts';
import type { LedgerConfig, MappingsConfig, ReadableMappings } from '../config/loaded-config.ts';
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
    async compile(mappings, folder) {
      const programs = mappings.definitions.flatMap(({ module }) => module ?? []);
      return (await unsafePrograms({ files: [], programs })).length > 0 ? [] : await compile(mappings, folder);
    },
  });
}

/** Most commands only need the config, so the compiler is loaded only to describe problems of mappings. */
async function compile(mappings: ReadableMappings, baseDir: string): Promise<MappingFlaw[]> {
  provideSdk();
  const { compileMappings } = await import('../pipeline/mapping/compile-mappings.ts');
  const compiled = await compileMappings({ ...mappings, baseDir });
  if (compiled.ok) return [];
  return compiled.error.map(({ path, message, expression, position, cure }) => {
    const at = position === undefined ? '' : ` at character ${position}`;
    return {
      path,
      message: expression === undefined ? message : `${message} (in \`${expression}\`${at})`,
      ...(cure === undefined ? {} : { cure }),
    };
  });
}
