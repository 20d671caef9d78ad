import { afterEach, describe, expect, it, vi } from 'vitest';
import { readMultipart } from '../../../src/web/server/add-routes.ts';

const part = (at: number, boundary = 'x') =>
  `--${boundary}\r\nContent-Disposition: form-data; name="f${at}"\r\n\r\nv\r\n`;
const formOf = (parts: number, boundary = 'x') =>
  Buffer.from(`${Array.from({ length: parts }, (_, at) => part(at, boundary)).join('')}--${boundary}--\r\n`);

describe('a form with a file', () => {
  afterEach(() => vi.restoreAllMocks());

  it('a form with a file may have 200 fields', async () => {
    for (const [boundary, type] of [
      ['x', 'multipart/form-data; boundary=x'],
      ['a b', 'multipart/form-data; charset=utf-8; boundary="a b"'],
    ] as const) {
      const { form, file } = await readMultipart(formOf(200, boundary), type);
      expect([form.size, form.get('f199'), file]).toEqual([200, 'v', null]);
    }
  });

  it('a form with a file and more fields is refused before it is parsed', async () => {
    const parsing = vi.spyOn(Response.prototype, 'formData');
    for (const parts of [201, 240_000]) {
      const refused = readMultipart(formOf(parts), 'multipart/form-data; boundary=x');
      await expect(refused).rejects.toMatchObject({ status: 400, message: 'The form has too many fields.' });
    }
    expect(parsing).not.toHaveBeenCalled();
  });

  it.each([
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=""',
    'multipart/form-data; boundary="x\\"y"',
    'multipart/form-data; boundary=x y',
  ])('a form with a file whose parts have no delimiter is refused: %s', async (type) => {
    await expect(readMultipart(formOf(2), type)).rejects.toMatchObject({ status: 400 });
  });
});
