import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { freePort } from '../../support/servers/free-port.ts';
import { endServer } from '../../support/servers/local-server.ts';

/** Characters that the encoding of RFC 6749 changes. */
export const CLIENT = { id: 'dpp sync+1', secret: 'a secret: 100% + more' };

/** A real OAuth2 authorisation server (oidc-provider): client credentials, and refresh tokens that are good once. */
export async function startAuthorizationServer() {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ['client_credentials', 'refresh_token', 'authorization_code'],
        scope: 'openid offline_access read',
        redirect_uris: ['https://erp.example.com/back'],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'key-1', use: 'sig', alg: 'RS256' }] },
    adapter: createAdapter(),
    ttl: { AccessToken: 3600, ClientCredentials: 3600, Grant: 86_400, IdToken: 3600, RefreshToken: 86_400 },
    cookies: { keys: [randomUUID()] },
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    rotateRefreshToken: true,
    scopes: ['openid', 'offline_access', 'read', 'write'],
  });
  const handle = provider.callback();
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));

  const tokenOf = async (value: string) =>
    (await provider.ClientCredentials.find(value)) ?? (await provider.AccessToken.find(value));

  return {
    tokenUrl: `${issuer}/token`,
    requests: () => requests,
    /** True for the header of a request whose token this server has given, and which has not ended. */
    async admits(header = ''): Promise<boolean> {
      const token = await tokenOf(header.replace('Bearer ', ''));
      return token !== undefined && !token.isExpired;
    },
    /** Ends a token before its time. */
    end: async (header = '') => (await tokenOf(header.replace('Bearer ', '')))?.destroy(),
    /** The refresh token that a person gets who has let dpp-sync read. */
    async refreshToken(): Promise<string> {
      const scope = 'openid offline_access';
      const grant = new provider.Grant({ accountId: 'reader', clientId: CLIENT.id });
      grant.addOIDCScope(scope);
      const grantId = await grant.save();
      const client = await provider.Client.find(CLIENT.id);
      const properties = { client, accountId: 'reader', grantId, scope, gty: 'authorization_code' };
      return await new provider.RefreshToken(properties).save();
    },
    close: () => endServer(server),
  };
}

/** Keeps what the server has given in this process. */
function createAdapter() {
  const stored = new Map<string, { grantId?: string; consumed?: number }>();
  return class {
    readonly kind: string;
    constructor(kind: string) {
      this.kind = kind;
    }
    async upsert(id: string, payload: object): Promise<void> {
      stored.set(`${this.kind} ${id}`, payload);
    }
    async find(id: string): Promise<object | undefined> {
      return stored.get(`${this.kind} ${id}`);
    }
    async consume(id: string): Promise<void> {
      Object.assign(stored.get(`${this.kind} ${id}`) ?? {}, { consumed: Math.floor(Date.now() / 1_000) });
    }
    async destroy(id: string): Promise<void> {
      stored.delete(`${this.kind} ${id}`);
    }
    async revokeByGrantId(grantId: string): Promise<void> {
      for (const [name, payload] of stored) if (payload.grantId === grantId) stored.delete(name);
    }
  };
}

export type AuthorizationServer = Awaited<ReturnType<typeof startAuthorizationServer>>;
