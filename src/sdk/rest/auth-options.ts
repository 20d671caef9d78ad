import { z } from 'zod';
import { secret } from '../connector.ts';
import { Address, Path, RelativePath, Secrets, Text, Time } from './option-types.ts';

const LIFETIME = Time.optional().describe(
  'How long a token is used if the answer does not say it, such as `24h`. A token that is refused is renewed at once.',
);

/** The header in which a token is sent that a login has given. */
const TOKEN_HEADER = {
  header: Text.default('Authorization').describe('The header with the token.'),
  prefix: z.string().default('Bearer ').describe('A text before the token.'),
};

/** The option `auth`. */
export const Auth = z
  .discriminatedUnion('by', [
    z.strictObject({ by: z.literal('none').describe('Requests need no login.') }),
    z.strictObject({
      by: z.literal('bearer').describe('A token that is sent as `Authorization: Bearer`.'),
      token: secret().describe('The token.'),
    }),
    z.strictObject({
      by: z.literal('basic').describe('A user and a password, for Basic authentication.'),
      user: Text.describe('The user, or the key.'),
      password: secret().describe('The password of the user, or the secret of the key.'),
    }),
    z
      .strictObject({
        by: z.literal('apiKey').describe('A key in a header, in the address, or in the body.'),
        header: Text.optional().describe('The header with the key, such as `X-Api-Key` or `Authorization`.'),
        query: Text.optional().describe('The parameter of the address with the key. It is removed from every message.'),
        body: Path.optional().describe(
          'The place of the key in the JSON body of each request, such as `$.params.args[2]`.',
        ),
        prefix: z.string().default('').describe('A text before the key, such as `token ` (with its space).'),
        key: secret().describe('The key.'),
      })
      .refine(({ header, query, body }) => [header, query, body].filter((one) => one !== undefined).length === 1, {
        error: 'one of `header`, `query` and `body`',
        path: ['header'],
      }),
    z
      .strictObject({
        by: z.literal('oauth2').describe('OAuth2: a token from an authorisation server.'),
        grant: z
          .enum(['client_credentials', 'password', 'refresh_token'])
          .describe('The grant. With `password` an expired token is renewed with the refresh token of the answer.'),
        tokenUrl: Address.describe('The address of the token endpoint.'),
        clientId: Text.describe('The id of the client.'),
        clientSecret: secret().optional().describe('The secret of the client.'),
        client: z
          .enum(['basic', 'body'])
          .default('basic')
          .describe('Where the id and the secret of the client are sent.'),
        user: Text.optional().describe('The user, for the grant `password`.'),
        password: secret().optional().describe('The password of the user.'),
        refreshToken: secret().optional().describe('The refresh token, for the grant `refresh_token`.'),
        refreshTokenFile: Text.optional().describe(
          'A file with the refresh token, in place of `refreshToken`. If the server gives a new one with each use, dpp-sync writes it into the file, so the folder has to be writable. Several sources and processes may share the file: they use it one after the other, with the lock `FILE.lock` beside it.',
        ),
        scope: Text.optional().describe('The scope of the token.'),
        parameters: z.record(z.string(), z.string()).default({}).describe('Other parameters of the token request.'),
        json: z.boolean().default(false).describe('True for a server that takes the token request as JSON.'),
        lifetime: LIFETIME,
        ...TOKEN_HEADER,
      })
      .refine(hasWhatItsGrantNeeds, {
        error:
          '`user` and `password` only for the grant password, and either `refreshToken` or `refreshTokenFile` only for refresh_token',
        path: ['grant'],
      }),
    z.strictObject({
      by: z.literal('session').describe('A login whose answer has a token.'),
      login: RelativePath.describe('The path of the login, relative to `base`.'),
      body: Secrets.default({}).describe(
        'The members of the JSON body of the login, such as the user and the password.',
      ),
      query: Secrets.default({}).describe('The parameters of the address of the login.'),
      token: Path.describe('The path of the token in the answer of the login.'),
      ...TOKEN_HEADER,
      lifetime: LIFETIME,
    }),
    z.strictObject({
      by: z.literal('jwt').describe('A token that dpp-sync signs itself.'),
      algorithm: z.enum(['RS256', 'ES256', 'HS256']).describe('How the token is signed.'),
      key: secret().describe('The private key in PEM form, or the common secret for HS256.'),
      keyId: Text.optional().describe('The id of the key (`kid`).'),
      claims: z.record(z.string(), z.string()).describe('The claims, such as `iss`, `sub`, `aud`.'),
      lifetime: Time.prefault('5m').describe('How long a token is valid.'),
      tokenUrl: Address.optional().describe(
        'The token endpoint that gives an access token for the signed one (RFC 7523). Without it the signed token itself is sent.',
      ),
      scope: Text.optional().describe(
        'The scope of the access token, for `tokenUrl`. Some servers want it as the claim `scope` instead.',
      ),
    }),
  ])
  .describe('How dpp-sync logs in.');
export type RestAuth = z.infer<typeof Auth>;

function hasWhatItsGrantNeeds(auth: {
  grant: string;
  user?: string | undefined;
  password?: string | undefined;
  refreshToken?: string | undefined;
  refreshTokenFile?: string | undefined;
}): boolean {
  const given = (...values: (string | undefined)[]) => values.filter((value) => value !== undefined).length;
  return (
    given(auth.user, auth.password) === (auth.grant === 'password' ? 2 : 0) &&
    given(auth.refreshToken, auth.refreshTokenFile) === (auth.grant === 'refresh_token' ? 1 : 0)
  );
}
