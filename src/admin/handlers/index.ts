import type { Handler } from '../handler.ts';
import { backUp } from './backup.ts';
import { changeSelected } from './change-passports.ts';
import { correctRows } from './correct-rows.ts';
import { muteAlert } from './mute-alert.ts';
import { passportPdf } from './passport-pdf.ts';
import { publicationList } from './publication-list.ts';
import { publishPassports } from './publish.ts';
import { publishComplete } from './publish-complete.ts';
import { reloadConfig } from './reload.ts';
import { replayRecords } from './replay.ts';
import { replayCause } from './replay-cause.ts';
import { replayInPresentForm } from './replay-form.ts';
import { reportCreate } from './report-create.ts';
import { reportList } from './report-list.ts';
import { retryDeliveries } from './retry-deliveries.ts';
import { settle } from './settle.ts';
import { settleCause } from './settle-cause.ts';
import { settleParts } from './settle-parts.ts';
import { settleSelected } from './settle-selected.ts';
import { syncSources } from './sync.ts';
import { unpublishPassports } from './unpublish.ts';

/** All requests that a person can make to the process that holds the ledger. */
export const handlers: readonly Handler<unknown, unknown>[] = [
  backUp,
  changeSelected,
  correctRows,
  muteAlert,
  passportPdf,
  publicationList,
  publishComplete,
  publishPassports,
  replayCause,
  reloadConfig,
  replayInPresentForm,
  replayRecords,
  reportCreate,
  reportList,
  retryDeliveries,
  settle,
  settleCause,
  settleParts,
  settleSelected,
  syncSources,
  unpublishPassports,
];
