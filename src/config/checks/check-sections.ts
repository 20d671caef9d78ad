// The rules of sections of a config that their schemas cannot express.

import { isJsonObject } from '../../lib/json.ts';
import { isLoopback } from '../../lib/loopback.ts';
import type { Findings } from './findings.ts';

/** Passports that are not initialised automatically can never be published automatically. */
export function checkPassports(value: unknown, findings: Findings): void {
  const passports = isJsonObject(value) ? value['passports'] : undefined;
  if (!isJsonObject(passports) || passports['init'] !== 'manual' || passports['publish'] !== 'auto') return;
  findings.addMismatch(['passports', 'publish'], 'manual, since passports are initialised by hand (`init: manual`)');
}

/** Reports a password that is given twice, and one for a queue that needs none. */
export function checkQueuePassword(value: unknown, findings: Findings): void {
  if (!isJsonObject(value) || (value['queuePassword'] ?? '') === '') return;
  const { queue = 'embedded' } = value;
  if (queue === 'embedded') {
    findings.addMismatch(['queuePassword'], 'nothing, since the embedded queue has no password');
  } else if (typeof queue === 'string' && URL.parse(queue)?.password) {
    findings.addMismatch(['queuePassword'], 'nothing, since the URL of `queue` has a password');
  }
}

/**
 * Checks of the dashboard that the schema cannot make: somebody must be able to log in, and the host names of the
 * dashboard must be listed.
 */
export function checkWeb(value: unknown, findings: Findings): void {
  const web = isJsonObject(value) ? value['web'] : undefined;
  if (!isJsonObject(web)) return;
  const { host = '127.0.0.1', token, users, allowedHosts, userHeader, trustedProxies } = web;
  const entries = Array.isArray(users) ? users : [];
  if (token === undefined && entries.length === 0) {
    findings.addProblem(
      ['web'],
      'found neither a token nor users, so no person could log in',
      'Give `token`, or `users` with passwords that `dpp-sync password` has hashed.',
    );
  }
  for (const [index, entry] of entries.entries()) {
    if (userHeader !== undefined || !isJsonObject(entry) || entry['password'] !== undefined) continue;
    findings.addMismatch(['web', 'users', index, 'password'], 'a hash as `dpp-sync password` prints it');
  }
  if (userHeader !== undefined && !(Array.isArray(trustedProxies) && trustedProxies.length > 0)) {
    findings.addProblem(
      ['web', 'userHeader'],
      'found a header without `trustedProxies`, so each client could be any user',
      'List in `web.trustedProxies` the addresses of the proxy that logs people in.',
    );
  }
  const names = entries.map((entry) => (isJsonObject(entry) ? entry['name'] : undefined));
  for (const [index, name] of names.entries()) {
    if (typeof name !== 'string' || names.indexOf(name) === index) continue;
    findings.addMismatch(['web', 'users', index, 'name'], 'a name that no other user has');
  }
  const hosts = Array.isArray(allowedHosts) ? allowedHosts : [];
  if (typeof host !== 'string' || isLoopback(host) || hosts.length > 0) return;
  findings.addProblem(
    ['web', 'host'],
    `found ${host}, which other machines can reach, without \`allowedHosts\``,
    'List in `web.allowedHosts` the names under which people reach the dashboard, or listen on 127.0.0.1.',
  );
}
