import { setTimeout as pause } from 'node:timers/promises';
import { decodeXML } from 'entities/decode';
import { WEB_TOKEN } from '../worlds/daemon-world.ts';

/** The fields of a form. A list may have a name several times. */
export type FormFields = Record<string, string> | [name: string, value: string][];

/** Gets pages and sends forms of a daemon's dashboard as an operator. */
export interface WebForms {
  get(path: string): Promise<{ status: number; text: string }>;
  bytes(path: string): Promise<{ status: number; bytes: Uint8Array; headers: Headers }>;
  /**
   * Sends a form. `to` is the address to which the answer redirects.
   *
   * @param from the path of the page with the form
   */
  post(path: string, fields?: FormFields, from?: string): Promise<{ status: number; to: string; text: string }>;
  upload(
    path: string,
    file: { name: string; bytes: Uint8Array },
  ): Promise<{ status: number; to: string; text: string }>;
  /**
   * Sends a form of a page that was loaded before, with its hidden fields.
   *
   * @param fields the fields that the person fills in
   */
  press(
    page: string,
    form: PressedForm,
    fields?: Record<string, string>,
  ): Promise<{ status: number; to: string; text: string }>;
  /** The page of a task when it has ended. */
  taskPage(path: string): Promise<string>;
}

/** A form, by its action and by a text that it contains, such as that of its button. */
export interface PressedForm {
  action: string;
  with?: string;
}

const LOOK_MS = 50;

/** The hidden fields of a form of a page. */
function hiddenFields(page: string, { action, with: text = '' }: PressedForm): [name: string, value: string][] {
  const forms = page.match(/<form [\s\S]*?<\/form>/g) ?? [];
  const form = forms.find((one) => one.includes(`action="${action}"`) && one.includes(text));
  if (form === undefined) throw new Error(`The page has no form for ${action} with “${text}”.`);
  const inputs = form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
  return [...inputs].map(([, name = '', value = '']) => [name, decodeXML(value)]);
}

export function webForms(url: string): WebForms {
  const headers = { authorization: `Bearer ${WEB_TOKEN}`, accept: 'text/html' };
  const send = async (path: string, body: URLSearchParams | FormData, from = '/') => {
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { ...headers, referer: `${url}${from}` },
      body,
      redirect: 'manual',
    });
    return { status: answer.status, to: answer.headers.get('location') ?? '', text: await answer.text() };
  };
  const get = async (path: string) => {
    const answer = await fetch(`${url}${path}`, { headers, redirect: 'manual' });
    return { status: answer.status, text: await answer.text() };
  };
  return {
    get,
    async bytes(path) {
      const answer = await fetch(`${url}${path}`, { headers });
      return { status: answer.status, bytes: await answer.bytes(), headers: answer.headers };
    },
    post: (path, fields = {}, from) => send(path, new URLSearchParams(fields), from),
    press: (page, form, fields = {}) =>
      send(form.action, new URLSearchParams([...hiddenFields(page, form), ...Object.entries(fields)])),
    upload(path, { name, bytes }) {
      const form = new FormData();
      form.append('file', new Blob([new Uint8Array(bytes)]), name);
      return send(path, form);
    },
    async taskPage(path) {
      for (;;) {
        const { text } = await get(path);
        if (!text.includes('badge idle">running')) return text;
        await pause(LOOK_MS);
      }
    },
  };
}
