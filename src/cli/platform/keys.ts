import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { processEnvironment } from '../../config/environment.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import { fault } from '../../domain/faults.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import { outcomeFault } from '../../operations/outcome-fault.ts';
import { confirmed } from '../confirm.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { readInputFile } from '../files.ts';
import { printable } from '../text/style.ts';

interface RevokeOptions {
  tokenFile?: string;
  yes?: boolean;
  token?: string | true;
}

const EXAMPLES = `
Examples:
  $ DPP_ADMIN_TOKEN=… dpp-sync keys revoke 12
  $ dpp-sync keys revoke 12 --token-file /run/secrets/admin_token --yes

It needs the session token of an administrator of the platform. An API key is not enough. A revoked key cannot be
restored. If it is the key of this dpp-sync, put a new one into target.apiKey first.`;

const TOKEN_VARIABLE = 'DPP_ADMIN_TOKEN';
const TOKEN_BYTES_MAX = 16_384;
/** The beginning of every key; its prefix, which the platform shows, has 8 characters. */
const KEY_START = 'dpp_';
const PREFIX_LENGTH = 8;

export function addKeysCommand(program: Command, run: RunAction): void {
  const keys = program.command('keys');
  keys
    .command('revoke')
    .description('revoke an API key permanently')
    .argument('<key-id>', "the key's id at the platform, not the key")
    .option('--token-file <file>', `a file that holds the token; the default is the variable \`${TOKEN_VARIABLE}\``)
    .option('--yes', 'do not ask; needed if the command does not run in a terminal')
    // The option is declared so that its use can be refused without showing its value.
    .addOption(new Option('--token [value]').hideHelp())
    .addHelpText('after', EXAMPLES)
    .action((keyId: string, options: RevokeOptions) => run((context) => revoke(keyId, options, context)));
}

async function revoke(keyId: string, options: RevokeOptions, context: CommandContext): Promise<number> {
  const { output, secrets } = context;
  if (options.token !== undefined) {
    if (typeof options.token === 'string') secrets.add(options.token);
    throw fault(
      'usage',
      'A token on the command line can be read by everybody on this machine, and stays in the history.',
      {
        suggestion: `Put a token into a file and name the file with --token-file, or put it into the variable ${TOKEN_VARIABLE}. Others may have read the token of this command: end its session.`,
      },
    );
  }
  assertKeyId(keyId, secrets);
  const token = await tokenOf(options, secrets);
  const config = await context.loadConfig();
  const { baseUrl } = config.target;
  const signal = context.interruption();
  if (!options.yes) {
    await confirmed(`Revoke the API key ${printable(keyId)} at ${baseUrl}? It cannot be undone.`, {
      signal,
      unattended: 'The key was not revoked: this command has no terminal at which a person can confirm it.',
      declined: 'No key was revoked.',
    });
  }

  const { outcome } = await context.withClient(config, (client) =>
    client.admin.revokeKey({ keyId, token, idempotencyKey: randomUUID() }, signal),
  );
  const alreadyRevoked = saysAlreadyRevoked(outcome);
  if (outcome.kind !== 'accepted' && !alreadyRevoked) throw revocationFault(outcome, keyId, options);
  if (output.json) output.document({ ok: true, keyId, alreadyRevoked });
  output.print(`The API key ${printable(keyId)} ${alreadyRevoked ? 'was revoked already' : 'is revoked'}.`);
  output.note('If a dpp-sync used this key, give it a new key. `dpp-sync check` says whether the new key works.');
  return 0;
}

/**
 * @throws Fault `usage` for a text that is not an id, or that may be a whole key. The id is in the request's path, and
 *   paths are logged
 */
function assertKeyId(keyId: string, secrets: SecretStore): void {
  if (keyId === '' || keyId === '.' || keyId === '..') throw fault('usage', `"${keyId}" is not the id of a key.`);
  if (!keyId.startsWith(KEY_START) || keyId.length <= PREFIX_LENGTH) return;
  secrets.add(keyId);
  throw fault('usage', 'This argument is a key or a part of a key, not the id of a key.', {
    suggestion: 'The id is on the API Keys page of the platform, beside the first 8 characters of the key.',
  });
}

async function tokenOf({ tokenFile }: RevokeOptions, secrets: SecretStore): Promise<string> {
  const text =
    tokenFile === undefined ? processEnvironment()[TOKEN_VARIABLE] : await readInputFile(tokenFile, TOKEN_BYTES_MAX);
  const token = text?.trim() ?? '';
  // I7: the token is registered as a secret before any other use.
  secrets.add(token);
  const from = tokenFile ?? `The variable ${TOKEN_VARIABLE}`;
  if (token === '') {
    throw fault('usage', `${from} ${tokenFile === undefined ? 'is not set' : 'is empty'}.`, {
      suggestion: `Put the session token of an administrator into ${TOKEN_VARIABLE}, or into a file that --token-file names.`,
    });
  }
  if (token.startsWith(KEY_START)) {
    throw fault('usage', `${from} has an API key, and an API key cannot revoke keys.`, {
      suggestion: 'Use the session token of an administrator.',
    });
  }
  return token;
}

/**
 * The API's document does not describe the answer to a second revocation. A refusal with these words means that the key
 * was already revoked.
 */
function saysAlreadyRevoked(outcome: Outcome): boolean {
  if (outcome.kind !== 'refused' && outcome.kind !== 'gated') return false;
  return /\balready\b.{0,40}\brevoked\b|\brevoked\b.{0,20}\balready\b/i.test(outcome.detail.message);
}

function revocationFault(
  outcome: Exclude<Outcome, { kind: 'accepted' }>,
  keyId: string,
  { tokenFile }: RevokeOptions,
): Error {
  const { detail } = outcome;
  const said = `${detail.message}${detail.status === null ? '' : ` (HTTP ${detail.status})`}`;
  if (outcome.kind === 'denied' && outcome.by !== 'plan') {
    const isToken = outcome.by === 'key';
    return fault(
      'api.token',
      `The API refuses the ${isToken ? 'token' : 'role of its user'}, and no key was revoked: ${said}`,
      {
        suggestion: isToken
          ? `Log in again and put the new token into ${tokenFile ?? TOKEN_VARIABLE}: tokens expire.`
          : 'Use the token of an owner or administrator of the organisation that the key belongs to.',
      },
    );
  }
  return outcomeFault(outcome, {
    failure: `The API key ${keyId} was not revoked`,
    cure:
      detail.status === 404
        ? "The organisation of the token's user has no key with this id; look at the API Keys page of the platform."
        : 'Look at the API Keys page of the platform.',
    unconfirmedCure: 'Run the command again: revoking a key twice does no harm.',
  });
}
