import { badRequest } from './web-fault.ts';

/** The fields and the file of a form. */
export interface FormBody {
  form: URLSearchParams;
  file: { name: string; bytes: Uint8Array } | null;
}

const PARTS_MAX = 200;

/** Reads a form with a file. The server has already bounded the size of the body. */
export async function readMultipart(body: Buffer, contentType: string): Promise<FormBody> {
  const boundary = boundaryOf(contentType);
  assertFewParts(body, boundary);
  const read = await parsed(body, boundary);
  const form = new URLSearchParams();
  let file: FormBody['file'] = null;
  for (const [name, value] of read) {
    if (typeof value === 'string') form.append(name, value);
    else if (value.name !== '')
      file = { name: plainName(value.name), bytes: new Uint8Array(await value.arrayBuffer()) };
  }
  return { form, file };
}

/** The text that separates the parts. Its characters need no escapes, so that it is read in one way only. */
function boundaryOf(contentType: string): string {
  const [, quoted, plain] =
    /;\s*boundary=(?:"([\w'()+,./:=? -]{1,70})"|([\w'()+.-]{1,70}))\s*(?:;|$)/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw unreadable();
  return boundary;
}

/** Counts the delimiters of the parts, because parsing many small parts would occupy the thread for seconds. */
function assertFewParts(body: Buffer, boundary: string): void {
  const delimiter = `--${boundary}`;
  let at = body.indexOf(delimiter);
  // The last delimiter ends the form.
  for (let count = 0; at !== -1; count += 1) {
    if (count > PARTS_MAX) throw badRequest('The form has too many fields.');
    at = body.indexOf(delimiter, at + delimiter.length);
  }
}

async function parsed(body: Buffer, boundary: string): Promise<FormData> {
  try {
    // The header is replaced, so that the parser looks for the delimiters that were counted.
    const headers = { 'content-type': `multipart/form-data; boundary="${boundary}"` };
    return await new Response(new Uint8Array(body), { headers }).formData();
  } catch (error) {
    if (error instanceof TypeError) throw unreadable();
    throw error;
  }
}

function unreadable(): Error {
  return badRequest('The form cannot be read. Send it again.');
}

/** The last part of a path, without characters that are invisible or refer to other folders. */
function plainName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  return last.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, 200);
}
