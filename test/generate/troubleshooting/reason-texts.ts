import type { ReasonCode } from '../../../src/domain/delivery/reason.ts';
import type { CodeText } from './fault-texts.ts';

const BY_ITSELF = 'Nothing: dpp-sync sends it again by itself.';
const LOOKED_UP =
  'Nothing: dpp-sync looks it up or sends it again by itself. If the platform cannot list the item, [settle it](operations.md#an-item-is-unconfirmed).';

/** One text for each reason of a delivery. The compiler requires one for a new code. */
export const REASON_TEXTS: Record<ReasonCode, CodeText> = {
  throttled: { means: 'The platform has asked to wait (429).', cure: BY_ITSELF },
  local: {
    means: 'This machine could not send the request: it has no file descriptor, port or memory left.',
    cure: 'Raise the limit that `dpp-sync status` names.',
  },
  denied_key: {
    means: 'The platform refuses the key (401).',
    cure: '[Replace the key](operations.md#the-key-was-revoked).',
  },
  denied_plan: { means: 'The platform refuses the plan (402).', cure: 'Activate the plan.' },
  denied_scope: {
    means: 'The platform refuses a scope of the key (403).',
    cure: '[Grant the scope](operations.md#a-scope-is-refused), or use another key.',
  },
  unavailable: { means: 'The platform was not able to process the request (503).', cure: BY_ITSELF },
  in_flight: { means: 'The platform is still working on an earlier send of the same request.', cure: BY_ITSELF },
  untouched: { means: 'The import was refused because of other products in it.', cure: BY_ITSELF },
  guarded: {
    means:
      'The item is new, and its stream had other items before. The guard has not decided yet whether these are gone.',
    cure: 'Nothing, while the source is read. If `dpp-sync status` shows a read that the guard holds, [decide about it](operations.md#a-guard-holds-a-run).',
  },
  reset: { means: 'The connection broke before the answer.', cure: LOOKED_UP },
  timeout: { means: 'The platform did not answer in time.', cure: LOOKED_UP },
  server_error: { means: 'The platform answered with an error of its own (5xx).', cure: LOOKED_UP },
  unreadable_answer: {
    means: 'The answer was cut, or was a page of a proxy.',
    cure: LOOKED_UP,
  },
  crossed: {
    means: 'The answer was about another item.',
    cure: '[Look at the platform, then settle it](operations.md#an-item-is-unconfirmed). Look for a proxy that caches answers.',
  },
  unechoed: {
    means:
      'The answer was a success that did not repeat what was sent, so it may belong to another request. Or it named the item and stated a problem.',
    cure: 'Nothing has to be done at first: dpp-sync reads the list once, when the other writes of the run are done. If no list can show the item, [look at the platform, then settle it](operations.md#an-item-is-unconfirmed).',
  },
  pending: {
    means:
      'The answer did not say that the passport is public, or is withdrawn. The platform may have queued the request.',
    cure: 'Wait: dpp-sync reads the publications twice, and once in the next run. If the word in the answer means that the passport is public, add it to `publications.publicStates` in the profile. If the publications cannot be read, see `answers.withoutProof`.',
  },
  conflict: {
    means: 'The platform answered a step of a passport with 409, in words that do not say whether the step is done.',
    cure: 'Wait: dpp-sync reads the publications once. If they do not show the passport as public, its publication is blocked. An initialisation is sent once more, and a second 409 means that the passport exists.',
  },
  crash: { means: 'The process ended while the request was under way.', cure: LOOKED_UP },
  unclear: {
    means: 'The answer to an import does not name this product. The platform may still make the product.',
    cure: 'Wait for the next runs: each run looks for the product. If you know the time that an import may take, set `imports.settlesWithinMs` in the profile.',
  },
  change_proof: {
    means:
      'Imports of this size, or with such an answer, have to prove first that the platform updates products. A list of the platform has to show this product exactly once.',
    cure: 'Nothing, while `dpp-sync status` reports progress. If the list of products cannot be read: allow the key to read it, or set `answers.withoutProof: accept` in the profile if the answers are enough.',
  },
  import_proof: {
    means:
      'Imports of this size, or with such an answer, have to prove themselves first. A list of the platform has to show this product exactly once.',
    cure: 'Nothing, while `dpp-sync status` reports progress. If the platform has made two products, remove the second one.',
  },
  import_refused: {
    means: 'The import was refused, and the answer does not name the product at fault.',
    cure: 'Nothing: the product is looked up and sent again in a smaller import.',
  },
  import_exists: {
    means: 'The import was refused because one of its products exists.',
    cure: 'Nothing: the product is looked up, and adopted if it exists.',
  },
  restored: {
    means: 'The ledger was restored, and the item may have been written since the backup.',
    cure: 'Nothing for products and materials. [Settle](operations.md#an-item-is-unconfirmed) BOM items.',
  },
  shared_id: {
    means: 'The answer gave an id that another item has.',
    cure: 'Find the item that has the id at the platform, then `dpp-sync settle KEY --delivered --id ID`.',
  },
  made_twice: {
    means: 'The platform has made the item several times.',
    cure: 'Remove all but one at the platform. The next run finds the one that is left. Or name the right one: `dpp-sync settle KEY --delivered --id ID`.',
  },
  exists: {
    means: 'The platform says that the item exists, and no list shows it.',
    cure: 'Look for it at the platform: another organisation or an archived item may have the SKU or the code. Then settle or replay it.',
  },
  may_exist: {
    means: 'A create was refused, and it is not known yet whether the item exists.',
    cure: 'Nothing: the list is read first.',
  },
  gate: {
    means: 'A business rule of the platform refuses the write (409). The message has the words of the platform.',
    cure: '[Fulfil the rule at the platform](operations.md#publish-failed). dpp-sync sends the write again by itself after some hours.',
  },
  forbidden: {
    means: 'The platform refuses this item (403), and accepts others.',
    cure: 'Look at the rights of the item at the platform. dpp-sync sends the write again by itself after some hours.',
  },
  refused: {
    means: 'The platform refuses the content (400, 413, 422).',
    cure: 'Correct the row, the mapping or a lookup table, then `dpp-sync replay --key KEY`.',
  },
  unsupported: {
    means: 'The API has no such write, such as a change of a BOM item.',
    cure: 'Make the change at the platform, then `dpp-sync settle KEY --delivered`; or leave it with `--ignore`.',
  },
  renamed: {
    means: 'The SKU has changed, and an import would make a second product.',
    cure: 'Change the SKU at the platform, then `dpp-sync settle KEY --delivered`; or take the change back.',
  },
  not_upserted: {
    means: 'The import made a second product in place of an update.',
    cure: 'Remove the second product. Set `productUpdate: none` in the profile, then `dpp-sync replay --key KEY`.',
  },
  import_unproven: {
    means:
      'Imports of changed products have not proven that the platform updates products. `dpp-sync status` says why.',
    cure: 'Set `productUpdate: none` in the profile. If the platform updates products by SKU now: `dpp-sync replay`.',
  },
  adopted: {
    means: 'The item was at the platform before, and the source differs from it.',
    cure: 'Compare both, then `dpp-sync sync --accept SOURCE`; or correct the source.',
  },
  adopted_bom: {
    means: 'The product was at the platform before, and it is unknown which BOM items the product has there.',
    cure: 'Look at the platform, then `dpp-sync settle --bom present SKU` or `--bom absent SKU`.',
  },
  ambiguous_key: {
    means: 'Several items at the platform have the SKU or code.',
    cure: 'Name the right item: `dpp-sync settle KEY --delivered --id ID`.',
  },
  exhausted: {
    means: 'The delivery was tried as often as `retry.attemptsMax` allows.',
    cure: 'See whether the platform works, then `dpp-sync replay --key KEY`.',
  },
  internal: {
    means: 'dpp-sync failed at this delivery. This is a defect.',
    cure: 'Report it with the log, then `dpp-sync replay --key KEY`.',
  },
  person: {
    means: 'A person has reported that the write did not arrive.',
    cure: 'A change of the row, or `dpp-sync replay --key KEY`, sends the write again.',
  },
  ignored: {
    means: 'A person has decided that the platform stays as it is.',
    cure: 'Nothing. A change of the row, or `dpp-sync replay --key KEY`, sends the write.',
  },
  unlisted: {
    means:
      'The list of a kind cannot be read from the platform, or the answers do not prove that the list was read to its end. So no item of this kind is created.',
    cure: 'Do what `dpp-sync status` says. [First contact](operations.md#before-the-first-item-is-created) describes what you can do.',
  },
  unknown: {
    means: 'The reason was not stored, or another version has stored it.',
    cure: 'Read the message of the delivery.',
  },
};
