import { join } from 'node:path';
import { connectors } from '../../connectors/index.ts';
import { processEnvironment } from '../config/environment.ts';
import { loadConfig } from '../config/load-config.ts';
import type { SecretStore } from '../lib/secrets.ts';
import type { RuntimeConfig } from './open-source.ts';
import { findPackage } from './package.ts';

/**
 * Loads a config file with the connectors and profiles that this package ships.
 *
 * @throws Fault `config.missing` or `config.invalid`
 */
export function loadRuntimeConfig(file: string, secrets: SecretStore): Promise<RuntimeConfig> {
  const profilesDir = join(findPackage().root, 'config', 'profiles');
  return loadConfig({ file, env: processEnvironment(), connectors, profilesDir, secrets });
}
