import { join } from 'node:path';
import { Profile } from '../../src/domain/profile.ts';
import { openSqliteLedger, type SqliteLedger } from '../../src/ledger/sqlite-ledger.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { NO_PASSPORTS, plainEncode, plainEncodeImport } from './ledger.ts';
import type { World } from './world.ts';

/** Works on a world's ledger without queue and API, which takes a fraction of the time of a sync. */
export async function withLedger<T>(world: World, work: (ledger: SqliteLedger) => Promise<T>): Promise<T> {
  const ledger = openSqliteLedger({
    file: join(world.folder, 'data/ledger.db'),
    target: world.baseUrl,
    profile: Profile.parse({}),
    passportRules: NO_PASSPORTS,
    encode: plainEncode,
    encodeImport: plainEncodeImport,
    clock: systemClock,
    command: 'test',
  });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}
