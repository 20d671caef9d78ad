import type { Access } from '../../access.ts';
import { type Html, html } from '../../html.ts';
import type { WrongTokens } from '../../limits.ts';
import { type Draft, draftIn, draftText } from '../../server/drafts.ts';
import { ownPath } from '../../server/fields.ts';
import { get, type PageContext, type Route, type WebAnswer, type WebRequest } from '../../server/route.ts';
import { WebFault } from '../../web-fault.ts';
import { passwordRoutes, tooMany } from './password-routes.ts';

export interface AccountParts {
  access: Access;
  wrongTokens: WrongTokens;
  /** The ways to log in that the config has now. */
  ways(): { token: boolean; users: boolean };
}

/** The routes for logging in and out, and for the account of a person. */
export function accountRoutes(context: PageContext, parts: AccountParts): Route[] {
  const { people, log } = context;
  const { access, wrongTokens } = parts;

  async function audit(who: string, action: string): Promise<void> {
    try {
      await people.endAction(await people.beginAction({ who, via: 'web', action, detail: {} }), 'Done.');
    } catch (error) {
      // If the ledger cannot be written, people must still be able to log in and see the reason.
      log.warn({ err: error, who, action }, 'A login or logout could not be written to the audit log.');
    }
  }

  async function login({ query, visitor }: WebRequest): Promise<WebAnswer> {
    if (visitor.named !== null) return { type: 'redirect', to: ownPath(query.get('next')) };
    return loginPage({ next: ownPath(query.get('next')), problem: null, ways: parts.ways() });
  }

  return [
    get('/login', 'open', login, { withoutLedger: true }),
    {
      method: 'POST',
      path: '/login',
      role: 'open',
      withoutLedger: true,
      async handle({ form, visitor }) {
        if (visitor.named !== null) throw new WebFault(403, LOGGED_IN_BY_PROXY);
        const next = ownPath(form.get('next'));
        const draft = draftIn(form.get('draft'), next);
        const name = (form.get('name') ?? '').trim();
        const secret = form.get('password') ?? form.get('token') ?? '';
        const result = await access.login(visitor, { name, secret }, draft);
        if (result.ok) {
          await audit(result.person.name, 'login');
          return { type: 'redirect', to: next, session: result.session };
        }
        await wrongTokens.note(visitor.ip, result);
        if (result.retryAfterMs === 0) {
          const problem = name === '' ? 'This is not the token.' : 'The name or the password is wrong.';
          return loginPage({ next, draft, problem, ways: parts.ways(), status: 401 });
        }
        return loginPage({ next, draft, ways: parts.ways(), ...tooMany(result) });
      },
    },
    {
      method: 'POST',
      path: '/logout',
      role: 'viewer',
      withoutLedger: true,
      async handle({ visitor, person }) {
        access.logout(visitor);
        await audit(person.name, 'logout');
        return { type: 'redirect', to: '/login', session: null };
      },
    },
    ...passwordRoutes(context, { access, wrongTokens }),
  ];
}

const LOGGED_IN_BY_PROXY =
  'The proxy in front of the dashboard logs people in. Use another person at the proxy to be another person here.';

interface LoginPage {
  next: string;
  /** The form that waits for the login. */
  draft?: Draft | null;
  problem: string | null;
  ways: { token: boolean; users: boolean };
  status?: number;
  headers?: Record<string, string>;
}

export function loginPage({ next, draft = null, problem, ways, ...answer }: LoginPage): WebAnswer {
  if (!ways.users && !ways.token) return { type: 'page', title: 'Log in', at: '', body: NO_WAY, ...answer };
  const body = html`<form class="login card" method="post" action="/login">
  <h1>dpp-sync</h1>
  ${ways.users ? userFields(ways.token) : TOKEN_FIELD}
  <input name="next" type="hidden" value="${next}" />
  ${draft === null ? null : html`<input name="draft" type="hidden" value="${draftText(draft)}" />`}
  <button type="submit">Log in</button>
  ${problem === null ? null : html`<p class="bad" role="alert">${problem}</p>`}
  ${ways.users ? null : html`<p class="quiet">The token is the value of <code>web.token</code> in the config.</p>`}
</form>`;
  return { type: 'page', title: 'Log in', at: '', body, ...answer };
}

/** For a config whose users have no passwords. */
const NO_WAY = html`<section class="login card"><h1>dpp-sync</h1><p>The proxy in front of the dashboard logs people in, and this request did not come through it. Open the dashboard at the address of the proxy.</p></section>`;

const TOKEN_FIELD = html`<label for="token">Token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />`;

function userFields(hasToken: boolean): Html {
  const hint = hasToken
    ? html`<p class="quiet">To log in with the token of the config, leave the name empty.</p>`
    : null;
  return html`<label for="name">Name</label>
  <input id="name" name="name" autocomplete="username" autocapitalize="none" spellcheck="false"${hasToken ? null : html` required`} autofocus />
  <label for="password">Password</label>
  <input id="password" name="password" type="password" autocomplete="current-password" required />${hint}`;
}
