import { ledgerPath } from '../ledger/file/file.ts';

/** The longest path of a socket that the kernel accepts, in bytes; libuv cuts a longer path without an error. */
const SOCKET_PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103;

/** The path at which the daemon of a config listens, or why it cannot listen there. */
export function socketPlace({ ledger }: { ledger: string }): { path: string; problem: string | null } {
  const path = `${ledgerPath(ledger)}.sock`;
  const bytes = Buffer.byteLength(path);
  const problem =
    bytes > SOCKET_PATH_BYTES_MAX
      ? `The path ${path} of the daemon's admin socket has ${bytes} bytes, and the system allows at most ${SOCKET_PATH_BYTES_MAX}. Put the ledger into a folder with a shorter path.`
      : null;
  return { path, problem };
}
