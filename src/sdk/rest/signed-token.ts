import { createHmac, createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import { sourceFault } from '../connector.ts';
import type { RestAuth } from './auth-options.ts';

type SignedBy = RestAuth & { by: 'jwt' };

/** Servers whose clocks are behind refuse a token of the future. */
const SECONDS_BACK = 30;

/** Signs a JSON Web Token (RFC 7519). Each token has an id of its own, because some servers accept an id only once. */
export function signToken(auth: SignedBy): string {
  const { algorithm, keyId, claims, lifetime } = auth;
  const now = Math.floor(Date.now() / 1_000);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const head = { alg: algorithm, typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) };
  const times = { iat: now - SECONDS_BACK, exp: now + Math.floor(lifetime / 1_000) };
  const content = `${part(head)}.${part({ jti: randomUUID(), ...claims, ...times })}`;
  return `${content}.${signatureOf(content, auth)}`;
}

function signatureOf(content: string, { algorithm, key }: SignedBy): string {
  if (algorithm === 'HS256') return createHmac('sha256', key).update(content).digest('base64url');
  const privateKey = privateKeyOf(key, algorithm);
  return sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}

function privateKeyOf(key: string, algorithm: 'RS256' | 'ES256'): KeyObject {
  const wanted = algorithm === 'RS256' ? 'an RSA key' : 'a key of the curve P-256';
  let found: KeyObject;
  try {
    found = createPrivateKey(key);
  } catch {
    // The error of the library may show parts of the key, so it is not passed on.
    throw unfit('is not a private key in PEM form without a passphrase', wanted);
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = found;
  const fits = algorithm === 'RS256' ? type === 'rsa' : type === 'ec' && details?.namedCurve === 'prime256v1';
  if (fits) return found;
  throw unfit(`is a key of the type ${details?.namedCurve ?? type}, which cannot sign with ${algorithm}`, wanted);
}

function unfit(reason: string, wanted: string): Error {
  return sourceFault(`\`auth.key\` ${reason}.`, {
    suggestion: `Give ${wanted} in PEM form, or correct \`auth.algorithm\`.`,
  });
}
