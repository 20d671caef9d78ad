/** Makes sure that a target from an address or a form is a path of this server. Any other target becomes `/`. */
export function ownPath(next: unknown): string {
  if (typeof next !== 'string' || !next.startsWith('/')) return '/';
  const url = URL.parse(next, 'http://own.invalid');
  if (url === null || url.host !== 'own.invalid') return '/';
  const path = `${url.pathname}${url.search}`;
  // Browsers read two slashes as the beginning of another host.
  return /^\/[/\\]/.test(path) || /^\/(?:login|logout)\b/.test(path) ? '/' : path;
}
