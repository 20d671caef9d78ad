import { onTestFinished } from 'vitest';
import { type ApiClient, createApiClient } from '../../../src/api/api-client.ts';
import type { ApiOptions } from '../../../src/api/session.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/logging/logging.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { type ScriptedServer, startScriptedServer } from './scripted-server.ts';
import { UNPACED } from './unpaced.ts';

export const API_KEY = 'dpp_live_4f9a8b7c6d5e4f3a2b1c';

/** A client, and a server whose answers the test decides. */
export interface ClientSetup {
  server: ScriptedServer;
  client: ApiClient;
  /** The lines of the log. */
  lines: string[];
  /** The waits of the client, in milliseconds. None of them takes any time. */
  waits: number[];
}

/** Starts server and client, and closes both when the test ends. */
export async function setUpClient(
  options: { profile?: unknown } & Partial<Omit<ApiOptions, 'profile'>> = {},
): Promise<ClientSetup> {
  const server = await startScriptedServer();
  const { profile = {}, ...rest } = options;
  const lines: string[] = [];
  const waits: number[] = [];
  const secrets = createSecretStore();
  const clock: Clock = {
    now: () => systemClock.now(),
    ticks: () => systemClock.ticks(),
    sleep(ms) {
      waits.push(ms);
      return Promise.resolve();
    },
  };
  const client = createApiClient({
    baseUrl: server.baseUrl,
    apiKey: { read: () => Promise.resolve(API_KEY) },
    secrets,
    pacing: UNPACED,
    clock,
    log: createLogger({ level: 'debug', secrets, write: (line) => lines.push(line) }),
    version: '1.2.3',
    ...rest,
    profile: Profile.parse(profile),
  });
  onTestFinished(async () => {
    await server.close();
    await client.close();
  });
  return { server, client, lines, waits };
}
