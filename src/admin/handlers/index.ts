import type { Handler } from '../handler.ts';
import { replayCause, settleCause } from './causes.ts';
import { changeSelected } from './change-passports.ts';
import { correctRows } from './correct-rows.ts';
import { backUp, deliveryStages, muteAlert, reloadConfig } from './daemon.ts';
import { passportPdf, publicationList, reportCreate, reportList } from './platform.ts';
import { publishComplete, publishPassports, unpublishPassports } from './publish.ts';
import { replayInPresentForm, replayRecords } from './replay.ts';
import { retryDeliveries } from './retry-deliveries.ts';
import { settle } from './settle.ts';
import { settleParts, settleSelected } from './settle-selected.ts';
import { syncSources } from './sync.ts';

/** All requests that a person can make to the process that holds the ledger. */
export const handlers: readonly Handler<unknown, unknown>[] = [
  backUp,
  changeSelected,
  correctRows,
  deliveryStages,
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
