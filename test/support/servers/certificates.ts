import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A certificate authority for tests, and a certificate of this machine that it has signed. */
export interface Certificates {
  ca: string;
  cert: string;
  key: string;
  /** The files of the certificate and of its key. */
  certFile: string;
  keyFile: string;
}

/** Makes an authority and a certificate in a folder. */
export function makeCertificates(folder: string): Certificates {
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=dpp-sync test', '-days', '2');
  openssl('req', ...newKey, '-keyout', 'host.key', '-out', 'host.csr', '-subj', '/CN=localhost');
  writeFileSync(at('names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  const signedBy = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '2'];
  openssl('x509', '-req', '-in', 'host.csr', ...signedBy, '-out', 'host.pem');
  return {
    ca: readFileSync(at('ca.pem'), 'utf8'),
    cert: readFileSync(at('host.pem'), 'utf8'),
    key: readFileSync(at('host.key'), 'utf8'),
    certFile: at('host.pem'),
    keyFile: at('host.key'),
  };
}
