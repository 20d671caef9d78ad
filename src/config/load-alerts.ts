import type { AlertRules, ChannelSettings, ReadableSecret } from '../domain/alert-settings.ts';
import { isJsonObject } from '../lib/json.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { isLoopback } from '../lib/loopback.ts';
import type { AlertsSection } from './alerts-section.ts';
import type { Findings } from './checks/findings.ts';
import type { PathSegment } from './problem.ts';

const TYPES = ['webhook', 'email', 'exec'] as const;
/** A shorter part of a path is probably an ordinary word, not a secret, such as `services` or `webhook`. */
const PART_LENGTH_MIN = 9;

/**
 * Registers the secret parts of the address of a webhook. Its host is not one of them, because it may be in other texts
 * as well.
 */
export function addAddressSecrets(text: string, secrets: SecretStore): void {
  const url = URL.parse(text);
  if (url === null) return;
  const parts = [
    ...url.pathname.split('/').filter((part) => part.length >= PART_LENGTH_MIN),
    ...url.searchParams.values(),
  ];
  for (const part of [...parts, url.username, url.password]) {
    secrets.add(part);
    secrets.add(decoded(part));
  }
}

/** The channels in the config, before they are checked. */
function channelsIn(value: unknown): unknown[] {
  const alerts = isJsonObject(value) ? value['alerts'] : undefined;
  const channels = isJsonObject(alerts) ? alerts['channels'] : undefined;
  return Array.isArray(channels) ? channels : [];
}

function member(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((at, name) => (isJsonObject(at) ? at[name] : undefined), value);
}

/** Registers the secrets of all channels. Call it before any message about the config. */
export function addChannelSecrets(value: unknown, secrets: SecretStore): void {
  for (const channel of channelsIn(value)) {
    const url = member(channel, 'webhook', 'url');
    if (typeof url === 'string') addAddressSecrets(url, secrets);
  }
}

/** Checks of the channels that the schema cannot make. */
export function checkChannels(value: unknown, findings: Findings): void {
  const ids = new Set<unknown>();
  for (const [index, channel] of channelsIn(value).entries()) {
    const path = ['alerts', 'channels', index];
    const types = TYPES.filter((type) => member(channel, type) !== undefined);
    if (types.length !== 1) findings.addMismatch(path, 'exactly one of webhook, email and exec');
    const id = member(channel, 'id');
    if (ids.has(id)) findings.addProblem([...path, 'id'], 'another channel has this id');
    ids.add(id);
    checkAddress(member(channel, 'webhook', 'url'), [...path, 'webhook', 'url'], findings);
    checkEmail(member(channel, 'email'), [...path, 'email'], findings);
  }
}

function checkAddress(text: unknown, path: PathSegment[], findings: Findings): void {
  if (typeof text !== 'string' || text === '' || findings.has(path)) return;
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  // The value is not shown, because its path may hold a token.
  if (!isSafe) {
    findings.addProblem(
      path,
      'found a value that is not shown, expected an https URL (http is accepted only for 127.0.0.0/8, ::1 and localhost)',
    );
  }
}

function checkEmail(email: unknown, path: PathSegment[], findings: Findings): void {
  if (!isJsonObject(email)) return;
  const { host, security, user, password } = email;
  if (security === 'none' && typeof host === 'string' && !isLoopback(host)) {
    findings.addMismatch([...path, 'security'], 'starttls or tls (none is accepted only for this machine)');
  }
  if ((user === undefined) !== (password === undefined)) {
    findings.addMismatch([...path, user === undefined ? 'user' : 'password'], 'a user together with a password');
  }
}

export interface LoadedAlerts {
  channels: ChannelSettings[];
  rules: AlertRules;
}

/** The alerts without a section: shown by the dashboard and the metrics, without notices. */
export function loadedAlerts(
  { channels, when }: AlertsSection,
  options: {
    secretAt: (path: readonly PathSegment[], text: string) => ReadableSecret;
    resolvePath: (path: string) => string;
  },
): LoadedAlerts {
  const { secretAt, resolvePath } = options;
  return {
    rules: {
      runFailed: when.runFailed,
      guardHeld: when.guardHeld,
      quarantineAbove: when.quarantineAbove === false ? null : when.quarantineAbove,
      nothingSyncedMs: when.nothingSynced === false ? null : when.nothingSynced,
      keyRefused: when.keyRefused,
      apiDownMs: when.apiDown === false ? null : when.apiDown,
      backupOldMs: when.backupOld === false ? null : when.backupOld,
      configRefused: when.configRefused,
    },
    channels: channels.flatMap(({ id, webhook, email, exec }, index): ChannelSettings[] => {
      const path = ['alerts', 'channels', index];
      if (webhook !== undefined) {
        const url = secretAt([...path, 'webhook', 'url'], webhook.url);
        const token = webhook.token === undefined ? null : secretAt([...path, 'webhook', 'token'], webhook.token);
        return [{ id, type: 'webhook', url, format: webhook.format, token }];
      }
      if (email !== undefined) {
        const { host, port, security, user, password, from, to } = email;
        const login =
          user === undefined || password === undefined
            ? null
            : { user, password: secretAt([...path, 'email', 'password'], password) };
        return [{ id, type: 'email', host, port, security, login, from, to }];
      }
      if (exec === undefined) return [];
      const { program, args, timeout } = exec;
      return [{ id, type: 'exec', program: resolvePath(program), args, timeoutMs: timeout }];
    }),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
