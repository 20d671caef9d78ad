import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { WEB_ROLES } from '../../config/sections.ts';
import type { Clock } from '../../lib/clock.ts';
import { percentEncoded } from '../../lib/text/percent.ts';
import { plainJson } from '../../lib/text/safe-text.ts';
import { type Html, html } from '../html.ts';
import { layout, MENU, type MenuEntry } from '../layout.ts';
import { pageHead } from '../parts.ts';
import { type Session, sessionCookie } from '../sessions.ts';
import type { FaultAnswer } from '../web-fault.ts';
import { type Draft, withDraft } from './drafts.ts';
import { ownPath } from './fields.ts';
import type { Person, Role, Route, WebAnswer } from './route.ts';

/** The sender of a request, which the guard has found. */
export interface Visit {
  person: Person;
  session: Session | null;
}

export function mayDo(person: Person, role: Role): boolean {
  return WEB_ROLES.indexOf(person.role) >= WEB_ROLES.indexOf(role);
}

export type Answers = ReturnType<typeof createAnswers>;

/** @param routes gives all routes. The menu only has entries with a page that the person may open */
export function createAnswers(routes: () => readonly Route[], clock: Pick<Clock, 'now'>) {
  function menuOf(person: Person): MenuEntry[] {
    const pages = routes().filter(({ method }) => method === 'GET');
    return MENU.filter(({ path }) =>
      pages.some((page) => page.path === path && page.role !== 'open' && mayDo(person, page.role)),
    );
  }

  /** The page that the person has come from, such as the one with the form; null if the person did not come from a page. */
  function pageBefore({ headers: { referer, host } }: FastifyRequest): string | null {
    const from = URL.parse(referer ?? '');
    if (from === null || from.host !== host) return null;
    const isPage = routes().some(
      (route) =>
        route.method === 'GET' &&
        new RegExp(`^${route.path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`).test(from.pathname),
    );
    return isPage ? ownPath(`${from.pathname}${from.search}`) : null;
  }

  /** The form that waits on this page for the person. */
  function draftFor({ url, headers }: FastifyRequest, session: Session | null): Draft | null {
    const draft = session?.draft ?? null;
    return draft !== null && draft.page === url && headers['x-live'] === undefined ? draft : null;
  }

  function backLink(request: FastifyRequest): Html | null {
    const path = pageBefore(request);
    return path === null || path === '/' || path === request.url
      ? null
      : html`<a href="${path}">Back to the page before</a> · `;
  }

  function send(request: FastifyRequest, reply: FastifyReply, visit: Visit | null, answer: WebAnswer) {
    switch (answer.type) {
      case 'page': {
        const { title, body, at, status = 200, headers = {} } = answer;
        const session = visit?.session ?? null;
        const notice = session?.notice ?? null;
        // A page that is loaded again for its live parts must not remove the notice, because the notice is shown only
        // once.
        const draft = draftFor(request, session);
        if (session !== null && request.headers['x-live'] === undefined) {
          session.notice = null;
          session.draft = null;
        }
        const person = visit?.person ?? null;
        const menu = person === null ? [] : menuOf(person);
        const csrf = session?.csrf ?? '';
        const page = draft === null ? { body, notice } : withDraft(body, draft);
        const markup = layout({ title, at, menu, person, csrf, now: clock.now(), ...page });
        return reply.code(status).headers(headers).type('text/html; charset=utf-8').send(markup);
      }
      case 'redirect': {
        const { to, notice, session } = answer;
        if (session !== undefined) reply.header('set-cookie', sessionCookie(session, request.headers));
        if (notice !== undefined && visit?.session) visit.session.notice = notice;
        return reply.redirect(to, 303);
      }
      case 'download':
        return reply
          .type(answer.contentType)
          .header('content-disposition', dispositionOf(answer.name))
          .send(Readable.from(answer.chunks, { objectMode: false }));
      case 'json': {
        const { status = 200, contentType = 'application/json; charset=utf-8', headers = {}, value } = answer;
        return reply
          .code(status)
          .headers(headers)
          .type(contentType)
          .send(plainJson(JSON.stringify(value)));
      }
      case 'text':
        return reply.type(answer.contentType).send(answer.text);
      case 'events': {
        const headers = Object.entries(reply.getHeaders());
        reply.hijack();
        for (const [name, value] of headers) if (value !== undefined) reply.raw.setHeader(name, value);
        // This header asks proxies not to buffer the events.
        reply.raw.setHeader('x-accel-buffering', 'no');
        reply.raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
        answer.open(reply.raw);
        return reply;
      }
    }
  }

  return {
    send,
    pageBefore,
    /** Sends an error in the form that the sender reads: a page, a problem of the admin API, or JSON. */
    sendFault(request: FastifyRequest, reply: FastifyReply, visit: Visit | null, fault: FaultAnswer): unknown {
      const { status, code, suggestion, link } = fault;
      const message = fault.message ?? 'Something went wrong. The log has the reason.';
      if (request.url.startsWith('/api/')) {
        const problem = { type: `urn:dpp-sync:${code}`, title: titleOf(status), status, detail: message };
        const value: z.input<typeof Problem> = {
          ...problem,
          code,
          ...(suggestion === null ? {} : { suggestion }),
          ...(fault.errors === undefined ? {} : { errors: [...fault.errors] }),
        };
        return send(request, reply, visit, { type: 'json', status, contentType: PROBLEM_TYPE, value });
      }
      if (wantsPage(request)) {
        const body = html`${pageHead(titleOf(status))}<section class="card"><p>${message}</p>${
          suggestion === null ? null : html`<p>${suggestion}</p>`
        }<p>${link === undefined ? null : html`<a href="${link.path}">${link.name}</a> · `}${backLink(request)}<a href="/">Back to the overview</a></p></section>`;
        return send(request, reply, visit, { type: 'page', status, title: titleOf(status), body, at: '' });
      }
      return send(request, reply, visit, { type: 'json', status, value: { ok: false, error: { message } } });
    },
  };
}

const TITLES: Record<number, string> = {
  400: 'Not possible like this',
  401: 'Not logged in',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Not possible now',
  413: 'Too large',
  414: 'The address is too long',
  415: 'Unknown kind of content',
  421: 'Unknown host',
  422: 'The request does not fit',
  429: 'Too many requests',
  500: 'Something went wrong',
  502: 'The platform refuses',
  503: 'Not available',
};

function titleOf(status: number): string {
  return TITLES[status] ?? `Error ${status}`;
}

/** An error in the form of RFC 9457. */
export const Problem = z.strictObject({
  type: z.string().describe('`urn:dpp-sync:` and the code.'),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.string().describe('The code of the error, as commands give it with `--json`.'),
  suggestion: z.string().optional(),
  errors: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
});

const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

export function wantsPage(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/html');
}

/** The header that names a file, in ASCII and as UTF-8. */
function dispositionOf(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%/]/g, '_');
  return `attachment; filename="${plain}"; filename*=UTF-8''${percentEncoded(name.toWellFormed())}`;
}
