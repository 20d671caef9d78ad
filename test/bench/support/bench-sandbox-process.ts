import { systemClock } from '../../../src/lib/clock.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';

/**
 * A sandbox in memory and in a separate process, for measurements: `node bench-sandbox-process.ts KEY` prints its URL.
 */
const [key = ''] = process.argv.slice(2);
const sandbox = await createSandbox({}, { clock: systemClock });
sandbox.ensureKey({ organization: 'acme', name: 'bench', scopes: ['read', 'write', 'publish'], key });
process.stdout.write(`${await sandbox.listen()}\n`);
process.on('message', () => process.send?.(process.cpuUsage()));
