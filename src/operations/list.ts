import { listAlerts, muteAlert, testAlerts } from './alerts.ts';
import { listCauseMembers, listCauses, noteCause, replayCause, settleCause, showCause } from './causes.ts';
import { correctRows, listLookupValues, removeLookupValue, setLookupValue } from './corrections.ts';
import { backUp, listActions, listBackups, reloadConfig } from './daemon.ts';
import { showHistory } from './history.ts';
import { listItems, listQuarantine, showItem, showItemByQuery, why } from './items.ts';
import type { AnyOperation } from './operation.ts';
import { changeSelected, countPassports, listPassports } from './passports.ts';
import { passportPdf, publicationList, reportCreate, reportList } from './platform.ts';
import { publishComplete, publishPassports, unpublishPassports } from './publish.ts';
import { pauseQueue, resumeQueue, retryDeliveries } from './queues.ts';
import { replayInPresentForm, replayRecords } from './replay.ts';
import { listRuns, planSources, refuseGuarded, showRun, stopRun, syncSources } from './runs.ts';
import { settle } from './settle.ts';
import { settleParts, settleSelected } from './settle-selected.ts';
import { deliveryStages, showStatus } from './status.ts';
import { testMappings } from './test.ts';

/** All operations, in the order of the OpenAPI document. */
export const OPERATIONS: readonly AnyOperation[] = [
  listItems,
  showItem,
  showItemByQuery,
  why,
  listQuarantine,
  listPassports,
  countPassports,
  showHistory,
  listRuns,
  showRun,
  listCauses,
  showCause,
  listCauseMembers,
  listLookupValues,
  listActions,
  backUp,
  changeSelected,
  correctRows,
  muteAlert,
  publishComplete,
  publishPassports,
  replayCause,
  reloadConfig,
  replayInPresentForm,
  replayRecords,
  reportCreate,
  retryDeliveries,
  settle,
  settleCause,
  settleParts,
  settleSelected,
  syncSources,
  unpublishPassports,
  noteCause,
  setLookupValue,
  removeLookupValue,
  publicationList,
  reportList,
  passportPdf,
  planSources,
  testMappings,
  showStatus,
  deliveryStages,
  pauseQueue,
  resumeQueue,
  listBackups,
  listAlerts,
  testAlerts,
  stopRun,
  refuseGuarded,
];
