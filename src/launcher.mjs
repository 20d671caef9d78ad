#!/usr/bin/env node
// Not every `env` can hand options to Node (that of BusyBox cannot), so that the heap's are with whoever starts this file:
// the scripts of package.json, and the image.
// Checks the Node version before anything else is imported: on an older Node the native SQLite driver ends the
// process with a segmentation fault and no message.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  const message = `dpp-sync needs Node 22.19 or newer (24 LTS is recommended), and this is Node ${process.versions.node}.`;
  const cure =
    'Inside the repository run it through npm, which brings its own Node on Linux x64: npm run -s dpp-sync -- ARGS';
  const args = process.argv.slice(2);
  // As everywhere, what follows `--` is no option.
  if (args.includes('--json') && !args.slice(0, args.indexOf('--json')).includes('--')) {
    const error = { code: 'usage', path: null, message: `${message} ${cure}` };
    process.stdout.write(`${JSON.stringify({ ok: false, error })}\n`);
  }
  process.stderr.write(`${message}\n${cure}\n`);
  process.exit(2);
}
const { existsSync } = await import('node:fs');
const built = new URL('../dist/src/main.js', import.meta.url);
const source = new URL('./main.ts', import.meta.url);
// The repository runs from source; the container and the packed tarball ship only the build.
await import(existsSync(source) ? source.href : built.href);
