import { badRequest } from './web-fault.ts';

/** The fields and the file of a form. */
export interface FormBody {
  form: URLSearchParams;
  file: { name: string; bytes: Uint8Array } | null;
}

const PARTS_MAX = 200;

/** Reads a form with a file. The server has already bounded the size of the body. */
export async function readMultipart(body: Buffer, contentType: string): Promise<FormBody> {
  const read = await parsed(body, contentType);
  const form = new URLSearchParams();
  let file: FormBody['file'] = null;
  let parts = 0;
  for (const [name, value] of read) {
    parts += 1;
    if (parts > PARTS_MAX) throw badRequest('The form has too many fields.');
    if (typeof value === 'string') form.append(name, value);
    else if (value.name !== '')
      file = { name: plainName(value.name), bytes: new Uint8Array(await value.arrayBuffer()) };
  }
  return { form, file };
}

async function parsed(body: Buffer, contentType: string): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData();
  } catch (error) {
    if (error instanceof TypeError) throw badRequest('The form cannot be read. Send it again.');
    throw error;
  }
}

/** The last part of a path, without characters that are invisible or refer to other folders. */
function plainName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  return last.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, 200);
}
