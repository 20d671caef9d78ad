import { systemCodeOf } from './errors.ts';

/**
 * A limit of this machine or process that was reached, so that no other system is at fault. `what` and `cure` are full sentences.
 */
export interface LocalTrouble {
  what: string;
  cure: string;
}

// Texts by error code. Sources: "Common system errors" in the documentation of Node, and errno(3).
const TROUBLES: Readonly<Record<string, LocalTrouble>> = {
  EMFILE: {
    what: 'This process has as many files and connections open as it may (EMFILE).',
    cure: 'Raise its limit: `ulimit -n`, `LimitNOFILE=` of a systemd unit, or `--ulimit nofile=` of a container.',
  },
  ENFILE: {
    what: 'This machine has as many files open as it can (ENFILE).',
    cure: 'Raise `fs.file-max`, or find the program that has so many files open.',
  },
  ENOBUFS: {
    what: 'This machine has no memory left for network buffers (ENOBUFS).',
    cure: 'Find the program that has so many connections open, or give the machine more memory.',
  },
  ENOMEM: { what: 'This machine has no memory left (ENOMEM).', cure: 'Free memory, or give the machine more memory.' },
  EADDRNOTAVAIL: {
    what: 'This machine has no local address or port left for a connection (EADDRNOTAVAIL).',
    cure: 'Find the program that has so many connections open, or widen `net.ipv4.ip_local_port_range`.',
  },
};

/** The limit of this machine that an error reports; null for every other error. */
export function localTroubleOf(error: unknown): LocalTrouble | null {
  const code = systemCodeOf(error);
  return code !== undefined && Object.hasOwn(TROUBLES, code) ? (TROUBLES[code] ?? null) : null;
}
