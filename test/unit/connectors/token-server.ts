import type { RestCall, RestReply } from '../../support/rest/rest-server.ts';
import { startRestServer } from '../../support/rest/rest-server.ts';

/** An authorisation server. Each request gets another token, and with `rotates` also another refresh token, once. */
export async function startTokenServer({
  refuses,
  rotates = false,
  refreshToken = 'refresh-0-of-the-shop',
}: {
  /** What is answered in place of a token. */
  refuses?: (form: URLSearchParams, call: RestCall) => RestReply | null;
  rotates?: boolean;
  refreshToken?: string;
} = {}) {
  let valid = '';
  let refresh = refreshToken;
  let given = 0;
  const forms: URLSearchParams[] = [];
  const server = await startRestServer((call) => {
    const form = new URLSearchParams(typeof call.body === 'string' ? call.body : '');
    forms.push(form);
    const refused = refuses?.(form, call) ?? null;
    if (refused !== null) return refused;
    if (form.get('grant_type') === 'refresh_token' && form.get('refresh_token') !== refresh) {
      return { status: 400, body: { error: 'invalid_grant' } };
    }
    given += 1;
    valid = `token-${given}-of-the-shop`;
    if (rotates) refresh = `refresh-${given}-of-the-shop`;
    return {
      body: { access_token: valid, expires_in: 3600, ...(rotates ? { refresh_token: refresh } : {}) },
    };
  });
  return {
    url: `${server.base}/token`,
    calls: server.calls,
    forms,
    refreshToken: () => refresh,
    /** True for the newest token, until it was ended. */
    isValid: (token: string | undefined) => valid !== '' && token === `Bearer ${valid}`,
    /** The token ends now. */
    end(): void {
      valid = '';
    },
    close: () => server.close(),
  };
}

export type TokenServer = Awaited<ReturnType<typeof startTokenServer>>;
