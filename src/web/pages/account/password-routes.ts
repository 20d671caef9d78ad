import { passwordProblem } from '../../../lib/password-hash.ts';
import type { Access, Stranger } from '../../access.ts';
import { audited } from '../../audited.ts';
import { type Html, html } from '../../html.ts';
import type { WrongTokens } from '../../limits.ts';
import { card, csrfField, pageHead } from '../../parts.ts';
import { get, type PageContext, type Person, type Route, type WebAnswer, type WebRequest } from '../../server/route.ts';
import { WebFault } from '../../web-fault.ts';

export interface PasswordParts {
  access: Access;
  wrongTokens: WrongTokens;
}

/** The routes for the account of a person, and for changing its password. */
export function passwordRoutes({ people, log, runtime }: PageContext, { access, wrongTokens }: PasswordParts): Route[] {
  async function account(request: WebRequest): Promise<WebAnswer> {
    return accountPage(request, { hasPassword: access.hasPassword(request.person), problem: null });
  }

  /** Changes the password, or says why not. */
  async function change(request: WebRequest): Promise<WebAnswer> {
    const { form, visitor } = request;
    const [present, chosen, repeated] = FIELDS.map((name) => form.get(name) ?? '') as [string, string, string];
    const refuse = (problem: string, more = {}) => accountPage(request, { hasPassword: true, problem, ...more });
    const problem = problemOf({ present, chosen, repeated });
    if (problem !== null) return refuse(problem, { status: 400 });
    const result = await access.changePassword(visitor, { present, chosen });
    if (result.ok) return { type: 'redirect', to: '/account', notice: { text: CHANGED, tone: 'good' } };
    await wrongTokens.note(visitor.ip, result);
    return result.retryAfterMs > 0
      ? accountPage(request, { hasPassword: true, ...tooMany(result) })
      : refuse('The present password is wrong.', { status: 400 });
  }

  return [
    get('/account', 'viewer', account),
    {
      method: 'POST',
      path: '/account',
      role: 'viewer',
      fields: { names: FIELDS },
      bodyBytesMax: 16 * 1024,
      async handle(request) {
        const { person } = request;
        if (!access.hasPassword(person)) throw new WebFault(403, whyNone(person));
        // I7: the entry of the audit log has nothing of the form.
        const action = { who: person.name, via: 'web', action: 'password.change', request: {} } as const;
        const work = () => change(request);
        return audited(action, { people, log, secrets: runtime.secrets }, { work, outcomeOf });
      },
    },
  ];
}

/** The fields of the form. */
const FIELDS = ['present_password', 'new_password', 'repeated_password'] as const;

const CHANGED = 'Your password was changed. Your logins in other browsers have ended.';

function problemOf({
  present,
  chosen,
  repeated,
}: {
  present: string;
  chosen: string;
  repeated: string;
}): string | null {
  const problem = passwordProblem(chosen);
  if (problem !== null) return problem.replace('The password', 'The new password');
  if (chosen !== repeated) return 'The two new passwords differ.';
  return chosen === present ? 'The new password is the present one.' : null;
}

function outcomeOf(answer: WebAnswer): string {
  return answer.type === 'redirect' ? 'Done.' : 'Refused: the password stays as it was.';
}

function whyNone({ name, by }: Person): string {
  if (by === 'proxy') return `The proxy in front of the dashboard logs you in as ${name}. Change your password there.`;
  return 'You are logged in with the token. It is the value of web.token in the config, and has no password.';
}

interface AccountPage {
  hasPassword: boolean;
  /** Why the password was not changed; null if nothing was refused. */
  problem: string | null;
  status?: number;
  headers?: Record<string, string>;
}

function accountPage(request: WebRequest, { hasPassword, problem, ...answer }: AccountPage): WebAnswer {
  const { person } = request;
  const form = hasPassword ? passwordForm(request, problem) : html`<p>${whyNone(person)}</p>`;
  const body = html`${pageHead('Account')}${card('Who you are', html`<p>${person.name}, ${person.role}</p>`)}${card('Password', form)}`;
  return { type: 'page', title: 'Account', at: '', body, ...answer };
}

function passwordForm(request: WebRequest, problem: string | null): Html {
  const field = (at: 0 | 1 | 2, label: string, autocomplete: string) =>
    html`<p><label for="${FIELDS[at]}">${label}</label><br />
    <input id="${FIELDS[at]}" name="${FIELDS[at]}" type="password" autocomplete="${autocomplete}" required /></p>`;
  return html`<form method="post" action="/account">
  ${csrfField(request)}<input type="hidden" autocomplete="username" value="${request.person.name}" />
  ${field(0, 'Present password', 'current-password')}
  ${field(1, 'New password', 'new-password')}
  ${field(2, 'New password again', 'new-password')}
  <p class="quiet">At least 10 characters. A few words that do not belong together are easy to remember.</p>
  ${problem === null ? null : html`<p class="bad" role="alert">${problem}</p>`}
  <button type="submit">Change the password</button>
</form>`;
}

/** The answer after too many wrong attempts. */
export function tooMany({ retryAfterMs }: Stranger) {
  const seconds = Math.ceil(retryAfterMs / 1000);
  const problem = `Too many wrong attempts. Try again in ${seconds} seconds.`;
  return { problem, status: 429, headers: { 'retry-after': String(seconds) } };
}
