import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { RateLimit, SandboxOptions } from '../sandbox/settings.ts';
import { wholeNumber } from './arguments.ts';
import type { CommandContext, RunAction } from './context.ts';
import { untilAborted } from './interruption.ts';

interface SandboxCommandOptions {
  port: number;
  host: string;
  data?: string;
  key?: string;
  keyData?: string;
  keyRead?: string;
  rate?: number;
  burst?: number;
  idempotency: NonNullable<SandboxOptions['idempotency']>;
  ids: NonNullable<SandboxOptions['ids']>;
}

const EXAMPLES = `
Examples:
  $ dpp-sync sandbox                                    in memory, on port 4290, with fresh keys
  $ dpp-sync sandbox --data sandbox.db --key dpp_a_key_of_my_own_choosing
  $ dpp-sync sandbox --rate 50 --burst 20 --ids uuid    a platform of another kind

The sandbox behaves as the API document says: an address to try a config against. It serves until Ctrl-C.`;

const ORGANIZATION = 'Sandbox';

export function addSandboxCommand(program: Command, run: RunAction): void {
  program
    .command('sandbox')
    .description('serve a sandbox of the API; prints its address and keys')
    .option('--port <n>', 'the port; 0 takes a free one', wholeNumber(0, 65_535), 4290)
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--data <file>', 'keep everything in this file; without it all is gone at the end')
    .option('--key <key>', 'a key of your choice with every scope, in place of a fresh one', sandboxKey)
    .option('--key-data <key>', 'the same for the key that may read and write, but not publish', sandboxKey)
    .option('--key-read <key>', 'the same for the key that may only read', sandboxKey)
    .option('--rate <n>', 'requests per second that each key may make', wholeNumber(1, 1_000_000))
    .option(
      '--burst <n>',
      'requests that may come at once after a rest; the rate without it',
      wholeNumber(1, 1_000_000),
    )
    .addOption(
      new Option('--idempotency <mode>', 'which writes obey Idempotency-Key')
        .choices(['publish-only', 'honoured', 'ignored'])
        .default('publish-only'),
    )
    .addOption(new Option('--ids <kind>', 'the type of ids').choices(['numeric', 'uuid']).default('numeric'))
    .addHelpText('after', EXAMPLES)
    .action((options: SandboxCommandOptions) => run((context) => serve(options, context)));
}

async function serve(options: SandboxCommandOptions, context: CommandContext): Promise<number> {
  const { output, clock } = context;
  const { port, host, data, idempotency, ids } = options;
  const signal = context.interruption();
  const { createSandbox } = await import('../sandbox/sandbox.ts');
  const sandbox = await createSandbox(
    { idempotency, ids, ...rateLimitOf(options), ...(data === undefined ? {} : { storage: data }) },
    { clock },
  );
  try {
    const keys = issueKeys(sandbox, options);
    const baseUrl = await sandbox.listen({ port, host });
    // The keys were made for whoever reads this: it is the one time that they are shown.
    if (output.json) output.document({ ok: true, baseUrl, keys }, { reveal: true });
    output.reveal(
      `The sandbox of the DPP API serves at ${output.paint('bold', baseUrl)}`,
      '',
      ...keys.map(({ key, scopes }) => `  ${key}  ${output.paint('dim', scopes.join(', '))}`),
      '',
      `In dpp-sync.yaml:   target: { baseUrl: ${baseUrl}, apiKey: ${keys[0]?.key ?? ''} }`,
      data === undefined
        ? 'All is kept in memory and gone at the end. Ctrl-C ends it.'
        : `All is kept in ${data}. Ctrl-C ends it.`,
    );
    await untilAborted(signal);
  } finally {
    await sandbox.close();
  }
  return 0;
}

interface ShownKey {
  name: string;
  scopes: readonly ('read' | 'write' | 'publish')[];
  key: string;
}

function issueKeys(sandbox: Sandbox, { key, keyData, keyRead }: SandboxCommandOptions): ShownKey[] {
  const wanted = [
    { name: 'everything', scopes: ['read', 'write', 'publish'], given: key },
    { name: 'no publishing', scopes: ['read', 'write'], given: keyData },
    { name: 'reading only', scopes: ['read'], given: keyRead },
  ] as const;
  return wanted.map(({ name, scopes, given }) => {
    const request = { organization: ORGANIZATION, name, scopes: [...scopes] };
    const issued = given === undefined ? sandbox.issueKey(request) : sandbox.ensureKey({ ...request, key: given });
    return { name, scopes, key: issued.key };
  });
}

function rateLimitOf({ rate, burst }: SandboxCommandOptions): { rateLimit?: RateLimit } {
  if (rate === undefined) return {};
  return { rateLimit: { kind: 'token-bucket', ratePerSecond: rate, burst: burst ?? rate, retryAfter: 'seconds' } };
}

function sandboxKey(text: string): string {
  if (/^dpp_[A-Za-z0-9_-]{16,200}$/.test(text)) return text;
  throw new InvalidArgumentError('A key is dpp_ and 16 to 200 characters of A-Z, a-z, 0-9, _ and -.');
}
