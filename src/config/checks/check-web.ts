import { isJsonObject } from '../../lib/json.ts';
import { isLoopback } from '../../lib/loopback.ts';
import type { Findings } from './findings.ts';

/**
 * Checks of the dashboard that the schema cannot make: somebody must be able to log in, and the host names of the
 * dashboard must be listed.
 */
export function checkWeb(value: unknown, findings: Findings): void {
  const web = isJsonObject(value) ? value['web'] : undefined;
  if (!isJsonObject(web)) return;
  const { host = '127.0.0.1', token, users, allowedHosts } = web;
  const entries = Array.isArray(users) ? users : [];
  if (token === undefined && entries.length === 0) {
    findings.addProblem(
      ['web'],
      'found neither a token nor users, so no person could log in',
      'Give `token`, or `users` with passwords that `dpp-sync password` has hashed.',
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
