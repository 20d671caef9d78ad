import { shellValue } from '../../lib/text/shell-word.ts';

/** How the reader starts this program from the same folder, with the same config. */
export interface OwnStart {
  /** The program, as people type it into a shell. */
  command: string;
  /** The config as the command line names it; `null` for the default. */
  configFile: string | null;
}

const WITH_CONFIG =
  'alerts|check|items|keys|ledger|pdf|preview|publications|publish|quarantine|reload|replay|report|settle|show|start|status|sync|unpublish|why';
const WITHOUT_CONFIG = 'completion|connector|demo|init|password|sandbox';
/** A command in a text. A command between double quotes names a process, and is not for the reader to run. */
const HINT = new RegExp(`(?<![\\w"./-])dpp-sync (?:(${WITH_CONFIG})|(${WITHOUT_CONFIG}))(?![\\w-])`, 'g');

/** The text with every command in it as the reader can paste it into a shell. */
export function withOwnCommands(text: string, start: () => OwnStart): string {
  return text.replaceAll(HINT, (_, needy: string | undefined, other: string | undefined) => {
    const { command, configFile } = start();
    const config = needy === undefined || configFile === null ? '' : `-c ${shellValue(configFile)} `;
    return `${command} ${config}${needy ?? other}`;
  });
}
