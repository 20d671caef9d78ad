import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';

/** The user who runs the commands if the tests run as root. */
export interface ShellUser {
  uid?: number;
  gid?: number;
}

/** A shell that runs one command line after another. It keeps its present folder and its variables. */
export interface Shell {
  /** Resolves with the command's output on stdout and stderr, without its lines of progress. */
  run(command: string): Promise<string>;
  /** Writes a file with a path relative to the present folder. */
  write(path: string, content: string): Promise<void>;
  end(): Promise<void>;
}

/** Lines of progress. A slow machine prints more of them. */
const PROGRESS = /^(?:read|sent|listing) .*\d+ left\n/gm;

export function openShell(folder: string, { path, ...user }: ShellUser & { path: string }): Shell {
  const env = { PATH: `${path}:${process.env['PATH'] ?? ''}`, HOME: folder, LANG: 'C.UTF-8', NO_COLOR: '1' };
  const shell = spawn('sh', [], { ...user, cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(shell, 'close');
  const output = shell.stdout.setEncoding('utf8');

  async function run(command: string, input = ''): Promise<string> {
    const mark = randomUUID();
    shell.stdin.write(`{ ${command}; } <<'${mark}' 2>&1\n${input}${mark}\necho ${mark}\n`);
    let text = '';
    for await (const part of output.iterator({ destroyOnReturn: false })) {
      text += String(part);
      if (text.endsWith(`${mark}\n`)) return text.slice(0, -mark.length - 1).replaceAll(PROGRESS, '');
    }
    throw new Error(`The shell ended at \`${command}\`: ${text}`);
  }

  return {
    run: (command) => run(command),
    async write(file, content) {
      const printed = await run(`cat > '${file}'`, content);
      if (printed !== '') throw new Error(printed);
    },
    async end() {
      shell.stdin.end();
      await closed;
    },
  };
}
