import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Environment } from '../../../src/config/environment.ts';
import type { LedgerNeeds, SourceNeeds } from '../../../src/config/interpolate.ts';
import { loadConfig, loadLedgerConfig, loadMappingsConfig } from '../../../src/config/load-config.ts';
import type { LedgerConfig, LoadedConfig, MappingsConfig } from '../../../src/config/loaded-config.ts';
import { type ConfigProblem, problemsOf } from '../../../src/config/problem.ts';
import { connectorLoader } from '../../../src/daemon/sources/load-connector.ts';
import { Fault } from '../../../src/lib/errors.ts';
import { createSecretStore, type SecretStore } from '../../../src/lib/logging/secrets.ts';
import type { Connector } from '../../../src/sdk/connector.ts';
import { removeFolder } from '../machine/remove-folder.ts';

export const REPOSITORY = fileURLToPath(new URL('../../../', import.meta.url));

/** A valid config. Tests use it, or make one mistake in it. */
export const SOUND_CONFIG = `target:
  baseUrl: https://dpp.example.com
  apiKey: dpp_0123456789abcdef
sources:
  - id: erp
    connector: csv
    options: { path: products.csv, key: [SKU] }
    mappings:
      - to: product
        key: row.SKU
        fields: { sku: row.SKU, name: row.NAME }
`;

/** Makes a folder with these files, and removes it after the test. */
export function configFolder(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-sync-config-'));
  onTestFinished(() => removeFolder(folder));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

export interface LoadTestOptions {
  env?: Environment;
  needs?: SourceNeeds;
  secrets?: SecretStore;
  /** Further files beside the config. */
  files?: Record<string, string>;
  /** The name of the config file. */
  name?: string;
}

/** Loads a config from its text, with the real connectors and profiles. */
export async function loadText(text: string, options: LoadTestOptions = {}): Promise<LoadedConfig<Connector>> {
  return loadConfig({
    ...surroundings(text, options),
    needs: options.needs ?? 'all',
    connectors: connectorLoader,
  });
}

/** Loads a config from its text for a command that only reads the ledger. */
export async function loadLedgerText(text: string, needs: LedgerNeeds): Promise<LedgerConfig> {
  return loadLedgerConfig({ ...surroundings(text, {}), needs });
}

/** Loads the mappings of a config from its text. */
export async function loadMappingsText(text: string): Promise<MappingsConfig> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-sync-config-'));
  try {
    const file = join(folder, 'dpp-sync.yaml');
    writeFileSync(file, text);
    const profilesDir = join(REPOSITORY, 'config/profiles');
    return await loadMappingsConfig({ file, env: {}, profilesDir, secrets: createSecretStore() });
  } finally {
    await removeFolder(folder);
  }
}

function surroundings(text: string, options: LoadTestOptions) {
  const name = options.name ?? 'dpp-sync.yaml';
  const folder = configFolder({ ...options.files, [name]: text });
  return {
    file: join(folder, name),
    env: options.env ?? {},
    profilesDir: join(REPOSITORY, 'config/profiles'),
    secrets: options.secrets ?? createSecretStore(),
  };
}

/** The error of loading a config that must fail to load. */
export async function faultOf(text: string, options: LoadTestOptions = {}): Promise<Fault> {
  try {
    await loadText(text, options);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error('the config loaded, and should not have');
}

/** The problems of a config, by path. */
export async function problemsIn(text: string, options: LoadTestOptions = {}): Promise<Record<string, ConfigProblem>> {
  const problems = problemsOf(await faultOf(text, options));
  return Object.fromEntries(problems.map((problem) => [problem.path, problem]));
}
