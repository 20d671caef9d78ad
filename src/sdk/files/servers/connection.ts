// What the servers of files share: a connection that is opened when it is needed, and the faults of a server.

import { Fault, localTroubleOf, messageOf, systemCodeOf } from '../../../lib/errors.ts';
import { withoutSecrets } from '../../../lib/text/repeated-secrets.ts';
import { sourceFault } from '../../connector.ts';

/**
 * A connection that was idle for longer is opened again. Servers close idle connections, and reading a downloaded file
 * may take long.
 */
const IDLE_MS = 10_000;

/** One connection, with the function that closes it at once. */
interface Link<T> {
  opened: Promise<T>;
  cut(): void;
  usedAt: number;
}

/** A connection that is opened when it is needed. */
export function createKeptConnection<T>(options: {
  /** @param cutWith called with the function that closes the connection at once, as soon as there is a connection */
  open(cutWith: (cut: () => void) => void): Promise<T>;
  close(connection: T): Promise<void>;
}) {
  let kept: Link<T> | undefined;

  function open(): Link<T> {
    let cut = () => undefined as void;
    const opened = options.open((by) => {
      cut = by;
    });
    return { opened, cut: () => cut(), usedAt: performance.now() };
  }

  function drop(link: Link<T>): void {
    if (kept === link) kept = undefined;
    link.cut();
  }

  async function closeKept(): Promise<void> {
    const link = kept;
    kept = undefined;
    if (link !== undefined) await options.close(await link.opened);
  }

  return {
    /** Does work on the connection. A connection that was idle for long, or on which work has failed, is opened again. */
    async use<R>(work: (connection: T) => Promise<R>): Promise<R> {
      if (kept !== undefined && performance.now() - kept.usedAt > IDLE_MS) await closeKept();
      kept ??= open();
      const link = kept;
      try {
        const result = await work(await link.opened);
        link.usedAt = performance.now();
        return result;
      } catch (error) {
        // It is unknown whether the connection can still be used after a failure.
        drop(link);
        throw error;
      }
    },
    /** Closes the connection at once, or ends the attempt to open it. */
    cut(): void {
      if (kept !== undefined) drop(kept);
    },
    close: closeKept,
  };
}

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server answers at this address (connection refused)',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ENOTFOUND: 'the name of the host is not known',
  EAI_AGAIN: 'the name of the host cannot be looked up at the moment',
  ETIMEDOUT: 'the server does not answer',
  EHOSTUNREACH: 'there is no network route to the host',
  ENETUNREACH: 'there is no network route to the host',
  UND_ERR_CONNECT_TIMEOUT: 'the server does not answer',
  UND_ERR_HEADERS_TIMEOUT: 'the server does not answer',
  UND_ERR_BODY_TIMEOUT: 'the server stopped sending',
};
const TLS = /^(?:CERT_|DEPTH_ZERO_|ERR_TLS_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|ERR_SSL_)/;

/**
 * Makes the faults of one server. A text of a server may repeat a password, so secrets are removed from it here (I7).
 *
 * @param caAt the option of the config for certificates
 */
export function createServerFaults(
  server: string,
  secrets: readonly (string | undefined)[],
  caAt = '`ca` in `options.access`',
) {
  const known = new Set<string>();
  const clean = (text: string): string => withoutSecrets(text, [...known]).trim();
  const hide = (secret: string | undefined): void => {
    if (secret !== undefined && secret !== '') known.add(secret);
  };
  secrets.forEach(hide);
  return {
    clean,
    /** Removes a secret from all later texts, such as a token that a server has given. */
    hide,
    /**
     * Makes a fault from a failed action, such as `/in/x.csv could not be downloaded`, and its reason. An error that is
     * already a fault is returned unchanged.
     */
    of(what: string, error: unknown, suggestion?: string): Error {
      if (error instanceof Fault) return error;
      const local = localTroubleOf(error);
      if (local !== null) return sourceFault(`${what}. ${local.what}`, { suggestion: local.cure });
      const code = systemCodeOf(error) ?? '';
      if (TLS.test(code)) {
        return sourceFault(`${what}: the certificate of ${server} is not trusted (${code}).`, {
          suggestion: `If the certificate is signed by an authority of your own, give its certificate as ${caAt}.`,
        });
      }
      const text = clean(messageOf(error)).replace(/[.\s]+$/, '');
      return sourceFault(`${what}: ${CAUSES[code] ?? text}.`, {
        suggestion: suggestion ?? 'Check that the server can be reached, and pull again.',
      });
    },
    refused: (what: string, suggestion: string): Error => sourceFault(clean(what), { suggestion }),
  };
}

export type ServerFaults = ReturnType<typeof createServerFaults>;
