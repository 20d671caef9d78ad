import type { Document } from './answer.ts';

/** The page with which an nginx refuses a request itself, with `server_tokens off`. */
export function nginxPage(status: number, title: string): Document {
  const lines = [
    '<html>',
    `<head><title>${status} ${title}</title></head>`,
    '<body>',
    `<center><h1>${status} ${title}</h1></center>`,
    '<hr><center>nginx</center>',
    '</body>',
    '</html>',
    '',
  ];
  return { type: 'text/html', bytes: Buffer.from(lines.join('\r\n')) };
}
