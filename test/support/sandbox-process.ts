import { systemClock } from '../../src/lib/clock.ts';
import { createSandbox } from '../../src/sandbox/sandbox.ts';

/** A sandbox in a process of its own, to be killed: `node sandbox-process.ts FILE KEY` prints its base URL. */
const [storage = '', key = ''] = process.argv.slice(2);
const sandbox = await createSandbox({ storage, idempotency: 'honoured' }, { clock: systemClock });
sandbox.ensureKey({ organization: 'acme', name: 'test', scopes: ['read', 'write'], key });
process.stdout.write(`${await sandbox.listen()}\n`);
