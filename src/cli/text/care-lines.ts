import type { BackupStatus, ReloadStatus } from '../../domain/ports/daemon-notes.ts';
import { formatBytes, formatTime, printable } from './style.ts';

/** Lines about the daemon's last reload, about backups, and about paused sources. */
export function careLines(
  { reload, backup, dueRuns }: { reload: ReloadStatus | null; backup: BackupStatus | null; dueRuns: readonly string[] },
  sources: readonly { source: string; pausedUntil: number | null }[],
  makesBackups: boolean,
): string[] {
  const paused = sources.flatMap(({ source, pausedUntil }) => {
    if (pausedUntil === null) return [];
    const due = dueRuns.includes(source) ? ' A run is due and begins when the pause ends.' : '';
    return [
      `The source ${source} is paused until ${formatTime(pausedUntil)}: no run of this source begins automatically.${due}`,
    ];
  });
  return [...paused, ...reloadLines(reload), ...backupLines(backup, makesBackups)];
}

function reloadLines(reload: ReloadStatus | null): string[] {
  if (reload === null || reload.ok) return [];
  const title = `The daemon has refused the config at ${formatTime(reload.at)} and keeps the former settings:`;
  return [title, ...reload.errors.map((error) => `  ${printable(error)}`)];
}

function backupLines(backup: BackupStatus | null, makesBackups: boolean): string[] {
  if (!makesBackups) return [];
  const last = backup?.last ?? null;
  const made =
    last === null
      ? 'No backup has been made yet: the daemon makes one at its scheduled time.'
      : `Last backup: ${formatTime(last.madeAt)}, ${formatBytes(last.bytes)}, ${printable(last.file)}`;
  if (backup === null || backup.ok) return [made];
  return [
    made,
    `The backup at ${formatTime(backup.at)} has failed: ${printable(backup.error ?? 'no reason was kept')}`,
  ];
}
