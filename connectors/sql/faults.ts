import { sourceFault } from '../../src/sdk/index.ts';
import type { Dialect, Explanation } from './dialect.ts';
import type { Options } from './schema.ts';

/** The name of the database for people, without secrets. */
export function nameOf({ title }: Pick<Dialect, 'title'>, { host, port, database, file }: Options): string {
  if (file !== undefined) return `The ${title} database ${file}`;
  return `The ${title} database ${database} at ${host}${port === undefined ? '' : `:${port}`}`;
}

/** The explanation if the server has closed the connection during a statement. */
export const LOST: Explanation = {
  problem: 'has ended the connection',
  cure: 'Check whether the server runs, read its log, and pull again.',
};

const NETWORK: Readonly<Record<string, Explanation>> = {
  ENOTFOUND: { problem: 'has no address: its host name is not known', cure: 'Check `host`.' },
  EAI_AGAIN: { problem: 'has no address: its host name is not known', cure: 'Check `host` and the name server.' },
  ECONNREFUSED: {
    problem: 'does not take connections',
    cure: 'Check `host` and `port`, and whether the server runs.',
  },
  EHOSTUNREACH: {
    problem: 'cannot be reached',
    cure: 'Check `host`, and the network and the firewalls on the way to the server.',
  },
  ENETUNREACH: {
    problem: 'cannot be reached',
    cure: 'Check `host`, and the network and the firewalls on the way to the server.',
  },
  ETIMEDOUT: {
    problem: 'does not answer in time',
    cure: 'Check `host`, `port` and firewalls, or raise `connectMs`.',
  },
  ECONNRESET: LOST,
  EPIPE: LOST,
};

const TLS = /certificate|self[- ]signed|altnames|SSL|TLS|wrong version number/i;

/** The explanation of a network error, for all dialects; null for another error. */
function networkProblem(error: unknown): Explanation | null {
  const code = codeOf(error);
  if (code !== null && Object.hasOwn(NETWORK, code)) return NETWORK[code] ?? null;
  const message = messageOf(error);
  if (!TLS.test(message)) return null;
  return {
    problem: `cannot be reached with TLS: ${message.replace(/\.$/, '')}`,
    cure: 'Set `ca` to the certificates that have signed the certificate of the server, and `host` to the name in that certificate. Or set `tls: off` if the network can be trusted.',
  };
}

/**
 * Converts the error of a driver to a fault that a person can act on. The driver's own error is not passed on, because
 * it may contain sent values.
 */
export function databaseFault(error: unknown, dialect: Dialect, options: Options): Error {
  const known = dialect.explain(error) ?? networkProblem(error);
  const problem = known?.problem ?? `reports: ${messageOf(error).replace(/\.$/, '')}`;
  const cure = known?.cure ?? 'Check the query and the options of the source.';
  const text = `${nameOf(dialect, options)} ${problem}.`.replaceAll(/\s*\n\s*/g, ' ');
  return sourceFault(withoutSecret(text, options.password), { suggestion: cure });
}

function withoutSecret(text: string, password: string | undefined): string {
  return password === undefined ? text : text.replaceAll(password, '…');
}

/** The code that drivers and Node give their errors. */
export function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
