import { type Html, html } from '../../html.ts';
import { card, dataTable, keyValues } from '../../parts.ts';

export interface PeopleView {
  users: readonly { name: string; role: string; hasPassword: boolean }[];
  hasToken: boolean;
  /** The header in which a trusted proxy names the person; null if no proxy does. */
  userHeader: string | null;
  trustedProxies: readonly string[];
}

/** Who may log in, and which proxies are believed what they say about people. */
export function peopleCard(view: PeopleView): Html {
  const { users, hasToken } = view;
  const token = hasToken ? html`<p>A person who logs in with the token is an operator.</p>` : null;
  return card('Who may log in', [
    users.length === 0
      ? html`<p>Only people who have the token. <code>web.users</code> in the config adds people with roles.</p>`
      : usersTable(view),
    token,
    ...proxyParts(view),
    html`<p><a href="/audit">Audit log: what people have done</a></p>`,
  ]);
}

function usersTable({ users, userHeader }: PeopleView): Html {
  const waysOf = (hasPassword: boolean) => {
    if (userHeader === null) return 'password';
    return hasPassword ? 'proxy or password' : 'proxy';
  };
  return dataTable({
    caption: 'Users',
    columns: [{ name: 'name' }, { name: 'role' }, { name: 'logs in by' }],
    rows: users.map(({ name, role, hasPassword }) => [name, role, waysOf(hasPassword)]),
  });
}

function proxyParts({ userHeader, trustedProxies }: PeopleView): Html[] {
  if (trustedProxies.length === 0) {
    const text = 'No proxy is trusted: whatever a request says about its person or its address is ignored.';
    return [html`<h3>Proxies</h3><p>${text}</p>`];
  }
  const addresses = trustedProxies.map((one, at) => html`${at === 0 ? '' : ', '}<code>${one}</code>`);
  const known = html`The address of a client is read from <code>X-Forwarded-For</code>, as far as these proxies have written it.`;
  const named =
    userHeader === null
      ? html`They name no person: people log in at the form.`
      : html`A request from one of these addresses is made by the user whom the header <code>${userHeader}</code> names, without a password. So every program at these addresses can be each of the users. From any other address the header is ignored.`;
  return [
    html`<h3>Proxies</h3>`,
    keyValues([
      ['Trusted (web.trustedProxies)', html`${addresses}`],
      ['Names the person (web.userHeader)', userHeader === null ? 'no header' : html`<code>${userHeader}</code>`],
    ]),
    html`<p>${named} ${known}</p>`,
  ];
}
