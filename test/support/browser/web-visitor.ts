import { type IncomingHttpHeaders, request } from 'node:http';

export interface WebReply {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface WebQuestion {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** The fields of a form; they become the body. */
  form?: Record<string, string>;
  /**
   * The client's address in the loopback network. Use different addresses so that the wrong passwords of one test do
   * not delay another test.
   */
  from?: string;
}

/** Sends one request. Follows no redirect and keeps no cookie. */
export function askWeb(url: string, path: string, question: WebQuestion = {}): Promise<WebReply> {
  const { method = question.form === undefined ? 'GET' : 'POST', from = '127.0.0.1', form } = question;
  const isForm = form !== undefined;
  const headers = {
    ...(isForm ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
    ...question.headers,
  };
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    // The path is sent unchanged: `.` and `..` stay in it.
    const call = request({ hostname, port, path, method, headers, localAddress: from, agent: false }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (part: string) => (body += part));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
      answer.on('error', reject);
    });
    call.on('error', reject);
    call.end(isForm ? new URLSearchParams(form).toString() : question.body);
  });
}

/** A person with a browser: it keeps the session, and sends forms as the pages of the server do. */
export interface WebVisitor {
  cookie: string;
  csrf: string;
  get(path: string, headers?: Record<string, string>): Promise<WebReply>;
  post(path: string, form: Record<string, string>, headers?: Record<string, string>): Promise<WebReply>;
}

/** Logs in. Without a name, the password is the token. */
export async function visitWeb(
  url: string,
  { name = '', password }: { name?: string; password: string },
): Promise<WebVisitor> {
  const own = { origin: url, accept: 'text/html' };
  const answer = await askWeb(url, '/login', { form: { name, password }, headers: own });
  const cookie = (answer.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
  if (answer.status !== 303) throw new Error(`The login was answered with ${answer.status}: ${answer.body}`);
  const get = (path: string, headers = {}) =>
    askWeb(url, path, { headers: { cookie, accept: 'text/html', ...headers } });
  const csrf = /name="csrf" value="([\w-]{43})"/.exec((await get('/tasks')).body)?.[1] ?? '';
  return {
    cookie,
    csrf,
    get,
    post: (path, form, headers = {}) =>
      askWeb(url, path, { form: { csrf, ...form }, headers: { cookie, ...own, ...headers } }),
  };
}
