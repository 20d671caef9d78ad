import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { systemCodeOf } from '../../lib/errors.ts';
import { type Answer, refusal } from '../api/answer.ts';
import type { StyledAnswer } from './style.ts';

type Style = (answer: Answer) => StyledAnswer;

/** Answers bytes that are not HTTP. There is no request that could be entered in the journal. */
export function createBrokenRequestHandler(style: Style): (error: Error, socket: Socket) => void {
  return (error, socket) => {
    if (systemCodeOf(error) === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const [words, answer] = brokenRequestAnswer(systemCodeOf(error));
    const { status, contentType, body } = style(answer);
    const text = JSON.stringify(body);
    const head = [
      `HTTP/1.1 ${status} ${words}`,
      `Content-Type: ${contentType}`,
      `Content-Length: ${Buffer.byteLength(text)}`,
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
  };
}

function brokenRequestAnswer(code: string | undefined): [string, Answer] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return ['Request Timeout', refusal(408, 'The request took too long.')];
  if (code === 'HPE_HEADER_OVERFLOW') {
    return ['Request Header Fields Too Large', refusal(431, 'The headers are too large.')];
  }
  return ['Bad Request', refusal(400, 'Malformed HTTP request.')];
}

/** Answers a request with an `Expect` header that no server can fulfil (RFC 9110, section 10.1.1). */
export function createExpectationHandler(
  style: Style,
  enter: (ending: number) => void,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (_request, response) => {
    const { status, contentType, body } = style(refusal(417, 'The only expectation that can be met is 100-continue.'));
    const text = JSON.stringify(body);
    enter(status);
    response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }).end(text);
  };
}
