import type { Encode, EncodeImport } from '../domain/ports/claim.ts';
import { createRestored } from './backup/restored.ts';
import { createAdoptedBom } from './contact/adopted-bom.ts';
import { createAdoption } from './contact/adoption.ts';
import { createAdoptionByHand } from './contact/adoption-by-hand.ts';
import { createContact } from './contact/contact.ts';
import { createListedEntries } from './contact/listed.ts';
import { createListings } from './contact/listings.ts';
import { createDeadLetter } from './deliveries/dead-letter.ts';
import { createDue } from './deliveries/due.ts';
import { createLookUpRefusedCreates } from './deliveries/look-up-refused-creates.ts';
import { createRecheck } from './deliveries/recheck.ts';
import { createRemaining } from './deliveries/remaining.ts';
import { createReplay } from './deliveries/replay.ts';
import { createReplayForm } from './deliveries/replay-form.ts';
import { createClaims } from './deliveries/requests/claims.ts';
import { createStoredEchoes } from './deliveries/requests/echoes.ts';
import { createImportProofs } from './deliveries/requests/import-proof.ts';
import { createImports } from './deliveries/requests/imports.ts';
import { createNamedDeliveries } from './deliveries/requests/named-deliveries.ts';
import { createRequests } from './deliveries/requests/requests.ts';
import { createDeliver } from './deliveries/settling/deliver.ts';
import { createFollowProfile } from './deliveries/settling/follow-profile.ts';
import { createPlainSettles } from './deliveries/settling/plain-settles.ts';
import { createSettleRequest } from './deliveries/settling/settle-request.ts';
import { createSettles } from './deliveries/settling/settles.ts';
import { createUnconfirmed } from './deliveries/unconfirmed.ts';
import { createHeldCreates } from './items/held-creates.ts';
import { createItems } from './items/items.ts';
import { createAcceptMissing } from './items/missing-items.ts';
import { createReconcileGivenIds } from './items/reconcile-given-ids.ts';
import { createRelease } from './items/release.ts';
import { createRemoteIds } from './items/remote-ids.ts';
import { createPassportItems } from './passports/passport-items.ts';
import { createPassports } from './passports/passports.ts';
import { createPassportsByHand } from './passports/passports-by-hand.ts';
import { createPeople } from './people/people.ts';
import { createEndStream } from './records/end-stream.ts';
import { createGuardedItems } from './records/guarded-items.ts';
import { createGuardedReads } from './records/guarded-reads.ts';
import { createIdentities } from './records/identities.ts';
import { createReleaseLeftStreams } from './records/left-streams.ts';
import { createPageLooks } from './records/look-up-page.ts';
import { createLookups } from './records/lookups.ts';
import { createLosses } from './records/losses.ts';
import { createPendingRecords, createRecordsByKey } from './records/pending-records.ts';
import { createRefusedReads } from './records/refused-reads.ts';
import { createRunAccounts } from './records/run-accounts.ts';
import { createRuns } from './records/runs.ts';
import { createSettleHeldCreates } from './records/settle-held-creates.ts';
import { createStagePage } from './records/stage-page.ts';
import { createStaging } from './records/staging.ts';
import { createStreams } from './records/streams.ts';
import type { LedgerContext } from './store/context.ts';
import { createMeta } from './store/meta.ts';
import { createPrune } from './store/prune.ts';

/** Builds the parts of the ledger that work inside transactions, and connects them. */
export function createLedgerParts(
  context: LedgerContext,
  { encode, encodeImport }: { encode: Encode; encodeImport: EncodeImport },
) {
  const { db } = context;
  const meta = createMeta(db);
  const restored = createRestored(context);
  const listed = createListedEntries(context);
  const listings = createListings(context, listed);
  const contact = createContact(context, { listings, listed, restored });
  const adoptedBom = createAdoptedBom(context);
  const requests = createRequests(db);
  const heldCreates = createHeldCreates(db);
  const items = createItems(context, { restored, contact, adoptedBom, requests });
  const settleHeldCreates = createSettleHeldCreates(db, { items, contact });
  const guardedReads = createGuardedReads(context);
  const guardedItems = createGuardedItems(context, heldCreates);
  const run = {
    began: (source: string) => contact.runBegan(source),
    completed(runId: number) {
      restored.sourceWasRead(runId);
      adoptedBom.sourceWasRead(runId);
    },
  };
  const streams = createStreams(db);
  const accounts = createRunAccounts(db);
  const lookups = createLookups(db, accounts);
  const releaseLeftStreams = createReleaseLeftStreams(context, { guardedReads, lookups, items });
  const runs = createRuns(context, { run, releaseLeftStreams, guardedItems, streams, accounts, settleHeldCreates });
  const endStream = createEndStream(context, {
    refusedReads: createRefusedReads(db),
    guardedReads,
    guardedItems,
    streams,
    accounts,
    lookups,
    losses: createLosses(db),
    items,
    heldCreates,
    settleHeldCreates,
  });
  const pendingRecords = createPendingRecords(db);
  const recordsByKey = createRecordsByKey(db);
  const staging = createStaging(context, { items, contact, accounts, lookups });
  const identities = createIdentities(db, streams);
  const pageLooks = createPageLooks(db, streams);
  const storePage = createStagePage(context, { items, staging, streams, accounts, contact, lookups });
  const imports = createImports(context, requests, encodeImport);
  const importProofs = createImportProofs(context, { meta, reconcile: (id, again) => items.reconcile(id, again) });
  const echoes = createStoredEchoes(context, meta);
  const due = createDue(context, contact);
  const remaining = createRemaining(context, contact);
  const passportItems = createPassportItems(context);
  const passports = createPassports(context, { items, passportItems });
  const passportsByHand = createPassportsByHand(context, { items, passportItems });
  const claims = createClaims(context, { requests, imports, importProofs, items, passports, contact }, encode);
  const release = createRelease(context, items);
  const adoption = createAdoption(context, {
    contact,
    listings,
    listed,
    items,
    adoptedBom,
    passports: passportItems,
    release,
  });
  const adoptionByHand = createAdoptionByHand(db, { adoption, listed, items, adoptedBom, passports: passportItems });
  const remoteIds = createRemoteIds(context, items);
  const deliver = createDeliver(context, { items, requests, passports, restored, adoption, contact, release });
  const settling = { items, requests, imports, passports, restored, remoteIds };
  const settles = createSettles(context, {
    plain: createPlainSettles(context, { ...settling, release }),
    settleRequest: createSettleRequest(context, { ...settling, deliver }),
  });
  const lookUpRefusedCreates = createLookUpRefusedCreates(context, items);
  const deadLetter = createDeadLetter(context, { items, requests, imports, settles });
  const unconfirmed = createUnconfirmed(context, items);
  const followProfile = createFollowProfile(context, items);
  const reconcileGivenIds = createReconcileGivenIds(context, items);
  const replay = createReplay(context, { items, requests, restored, contact, lookups, importProofs }, staging);
  const replayForm = createReplayForm(context, items);
  const recheck = createRecheck(context, { items, passports });
  const named = createNamedDeliveries(context);
  const acceptMissing = createAcceptMissing(context);
  const prune = createPrune(context);
  const people = createPeople(context, lookups);

  return {
    meta,
    restored,
    listings,
    contact,
    guardedReads,
    guardedItems,
    runs,
    endStream,
    lookups,
    pendingRecords,
    recordsByKey,
    staging,
    identities,
    pageLooks,
    storePage,
    importProofs,
    echoes,
    due,
    remaining,
    passports,
    passportsByHand,
    claims,
    adoption,
    adoptionByHand,
    settles,
    lookUpRefusedCreates,
    deadLetter,
    unconfirmed,
    followProfile,
    reconcileGivenIds,
    replay,
    replayForm,
    recheck,
    named,
    acceptMissing,
    prune,
    people,
    settleHeldCreates,
  };
}
