import { type Html, html } from './html.ts';

/** A whole page of ours. */
export function page(options: { title: string; body: Html; refreshSeconds?: number }): string {
  const { title, body, refreshSeconds } = options;
  const refresh = refreshSeconds === undefined ? null : html`<meta http-equiv="refresh" content="${refreshSeconds}" />`;
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex" />
    ${refresh}
    <title>${title}</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/assets/style.css" />
  </head>
  <body>
    <main>${body}</main>
  </body>
</html>`.markup;
}

/** @param next where to go once logged in */
export function loginPage(options: { next: string; problem: string | null }): string {
  const { next, problem } = options;
  const told = problem === null ? null : html`<p class="bad" role="alert">${problem}</p>`;
  return page({
    title: 'Log in · dpp-sync',
    body: html`<form class="login card" method="post" action="/login">
  <h1>dpp-sync</h1>
  <label for="token">Token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
  <input name="next" type="hidden" value="${next}" />
  <button type="submit">Log in</button>
  ${told}
  <p class="quiet">The token is what <code>web.token</code> in the config stands for.</p>
</form>`,
  });
}

/** A page that says one thing. */
export function messagePage(title: string, message: string): string {
  return page({
    title: `${title} · dpp-sync`,
    body: html`<header><h1>${title}</h1></header>
<section class="card"><p>${message}</p><p><a href="/">Back to the start</a></p></section>`,
  });
}
