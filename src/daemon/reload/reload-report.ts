import type { ReloadStatus } from '../../domain/ports/daemon-notes.ts';
import type { CareLedger } from '../../domain/ports/ledger/care-ledger.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import { messageOf } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';

/** Returns a function that counts the result of a reload and stores it for `status`. */
export function reportReload(options: { ledger: Pick<CareLedger, 'noteDaemon'>; emit: Emit; log: Logger }) {
  const { ledger, emit, log } = options;
  return async (status: ReloadStatus): Promise<void> => {
    emit({ type: 'reload', ok: status.ok });
    try {
      await ledger.noteDaemon('reload', status);
    } catch (error) {
      log.warn({ error: messageOf(error) }, `\`status\` does not show this reload: ${messageOf(error)}`);
    }
  };
}

/** Finds out whether the token of the dashboard has changed since the last call. Keeps only its hash. */
export function createTokenWatch(config: Pick<RuntimeConfig, 'web'>): { isNew(): Promise<boolean> } {
  let known: string | null = null;
  return {
    async isNew() {
      const present = config.web?.token ? sha256Hex(await config.web.token.read()) : null;
      const isNew = present !== known;
      known = present;
      return isNew;
    },
  };
}
