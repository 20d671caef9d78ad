import { systemClock } from '../../../src/lib/clock.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { SandboxSettings } from '../../../src/sandbox/settings/settings.ts';

/**
 * A sandbox in a separate process that a test can kill: `node sandbox-process.ts PORT KEY SETTINGS` prints its base
 * URL.
 */
const [port = '0', key = '', settings = '{}'] = process.argv.slice(2);
const sandbox = await createSandbox(SandboxSettings.parse(JSON.parse(settings)), { clock: systemClock });
sandbox.ensureKey({ organization: 'acme', name: 'test', scopes: ['read', 'write', 'publish'], key });
process.stdout.write(`${await sandbox.listen({ port: Number(port) })}\n`);
