// Plays a script of nights: each plan is compared with what happens after it.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { textOf } from '../../support/connectors/connector-reader.ts';
import { contentOf } from '../../support/ledger/frozen-ledger.ts';
import { namesIn, watchPlatform } from '../../support/plans/effects.ts';
import { type Planned, planOf } from '../../support/plans/planned.ts';
import { differencesOf, isWrite, leftDifferences, rowDifferences } from './check-plan.ts';
import type { LedgerState } from './ledger-state.ts';
import { PLAN_MILESTONES, type Reach } from './milestones.ts';
import { type Act, type Export, edited, type Night, type Script, type Setup } from './night.ts';
import { createPlanWorld, type PlanWorld } from './plan-world.ts';
import { goStale, refuse, take } from './turns.ts';

/** Plays a script. Returns everything that a plan has said wrongly. */
export async function playNights({ setup, nights }: Script, reach: Reach): Promise<string[]> {
  const parts = await createPlanWorld(setup);
  try {
    for (const [at, night] of nights.entries()) {
      const problems = await playNight(night, parts, setup, reach);
      if (problems.length > 0) return problems.map((problem) => `Night ${at + 1}: ${problem}`);
    }
    // What was left undone is done in a last night without trouble.
    const last: Night = { edits: [], acts: [], trouble: [], turn: { how: 'sync' } };
    return (await playNight(last, parts, setup, reach)).map((problem) => `The last night: ${problem}`);
  } finally {
    await parts.world.remove();
  }
}

async function playNight(
  { edits, acts, trouble, turn }: Night,
  parts: PlanWorld,
  setup: Setup,
  reach: Reach,
): Promise<string[]> {
  const { world } = parts;
  for (const act of acts) await carryOut(act, parts, reach);
  const content = edited(parts.content(), edits);
  const isApplied = turn.how === 'apply' || turn.how === 'apply amid a change';
  parts.write(isApplied ? content : withRowsThatWait(content, parts));
  const effects = watchPlatform(world);
  let { planned, problems } = await planUntouched(parts);
  if (turn.how === 'stale') {
    problems.push(...(await goStale(turn.row, parts, setup)));
    reach('a stale plan was refused');
    const again = await planUntouched(parts);
    planned = again.planned;
    problems.push(...again.problems);
  }
  noteMilestones(planned, reach);
  if (planned.summary.failed.length > 0) {
    reach('a source could not be read');
    if (turn.how !== 'sync' && turn.how !== 'stopped') return [...problems, ...(await refuse('would fail', parts))];
  }
  const before = parts.ledger();
  if (isApplied && hasDueInFormerForm(planned, before))
    reach('a write was due in its former form when a plan was applied');
  const there = unknownAtPlatform(parts, before);
  for (const one of trouble) parts.trouble(one);
  const { isWhole, report } = await take(turn.how === 'stale' ? { how: 'apply' } : turn, parts, reach);
  world.sandbox.faults.clear();
  const after = parts.ledger();
  const stillThere = unknownAtPlatform(parts, after);
  // Where keys are honoured, a write is sent again after the death of its process. Otherwise it may stay unconfirmed.
  const hasTrouble = trouble.length > 0 || (turn.how === 'killed' && setup.idempotency !== 'honoured');
  const happened = { plan: planned.items, before, after, platformName: namesIn(world), there, hasTrouble, isWhole };
  if (report !== null) problems.push(...rowDifferences(planned, report));
  problems.push(...differencesOf({ ...happened, effects: effects({ repeats: hasTrouble }) }));
  const isAdopted = (name: string): boolean => !name.startsWith('passport') && !stillThere.has(name);
  if ([...there].some(isAdopted)) reach('an item was adopted');
  // After these the next night compares.
  if (problems.length > 0 || hasTrouble || !isWhole || turn.how === 'apply amid a change') return problems;
  return await nothingLeft(after, parts, setup);
}

async function carryOut(
  act: Act,
  { world, ledgerFile, dpp, accepted, forget }: PlanWorld,
  reach: Reach,
): Promise<void> {
  const backup = join(world.folder, 'backup.db');
  if (!existsSync(ledgerFile)) return;
  if (act.do === 'publish' || act.do === 'unpublish') await dpp(act.do, act.product);
  else if (act.do === 'replay') await dpp('replay');
  else if (act.do === 'accept') await dpp('sync', ...accepted.flatMap((id) => ['--accept', id]));
  else if (act.do === 'forget') forget();
  else if (act.do === 'back up') await dpp('ledger', 'backup', backup, '--force');
  else if (existsSync(backup)) {
    const { exitCode, stderr } = await dpp('ledger', 'restore', backup);
    if (exitCode !== 0) throw new Error(`The backup could not be restored: ${stderr}`);
    reach('a ledger was restored');
  }
}

/** Plans, and checks that nothing has changed and that the platform was not asked. */
async function planUntouched(parts: PlanWorld): Promise<{ planned: Planned; problems: string[] }> {
  const { world, ledgerFile, planFile } = parts;
  const state = (): string => {
    const files = Object.entries(filesOf(world.folder)).filter(([file]) => file !== planFile);
    return JSON.stringify([files, existsSync(ledgerFile) ? contentOf(ledgerFile) : null]);
  };
  const before = state();
  world.requests();
  const planned = await planOf(world, '--out', planFile);
  const problems = state() === before ? [] : ['The plan has changed files or the ledger.'];
  if (Object.keys(world.requests()).length > 0) problems.push('The plan has asked the platform.');
  return { planned, problems };
}

/** Plans again after a sync that has done all: there is nothing to do. */
async function nothingLeft(after: LedgerState, parts: PlanWorld, { recheckBlockedMs }: Setup): Promise<string[]> {
  const { planned, problems } = await planUntouched(parts);
  const { items, summary, exitCode } = planned;
  const writes = items.filter(isWrite);
  // A passport that a rule holds back is asked for again when its time has come.
  const isAskedAgain = (key: string): boolean =>
    recheckBlockedMs > 0 && after.items.get(`passport ${key}`)?.open?.state === 'blocked';
  const expected = summary.failed.length > 0 ? 3 : writes.length > 0 ? 4 : 0;
  return [
    ...problems,
    ...writes
      .filter(({ gate, key }) => !(gate === 'unknown' && isAskedAgain(key)))
      .map((item) => `Planned again: ${JSON.stringify(item)}`),
    ...(exitCode === expected ? [] : [`The second plan ended with ${exitCode} instead of ${expected}.`]),
    ...(recheckBlockedMs > 0 ? [] : leftDifferences(items, after)),
  ];
}

/**
 * A sync begins to send while it reads, so it may send an item first in a former form, as docs/plan.md says: one that waits or is due
 * when its row changes, and one with two rows in files of changes. Before such a sync, these rows stay as they are. A sync of a plan
 * reads everything first.
 */
function withRowsThatWait(next: Export, { content, ledger, hasUnreadChanges }: PlanWorld): Export {
  const { items } = ledger();
  const former = content();
  const kept = <Row extends { id: string }>(kind: string, rows: readonly Row[], before: readonly Row[]): Row[] => {
    const waits = ({ id }: Row): boolean => {
      const open = items.get(`${kind} ${id}`)?.open ?? null;
      return open !== null && (open.state === 'waiting' || open.state === 'due' || open.dueAt > 0);
    };
    return [...rows.filter((row) => !waits(row)), ...before.filter(waits)];
  };
  return {
    products: kept('product', next.products, former.products),
    materials: hasUnreadChanges() ? former.materials : kept('material', next.materials, former.materials),
    lines: kept('bom_item', next.lines, former.lines),
  };
}

function noteMilestones({ items, summary }: Planned, reach: Reach): void {
  const log = summary.runs.find(({ source }) => source === 'log');
  const isRead = log?.warnings.length === 0;
  if (isRead && log.missing > 0) reach('a tombstone took a product away');
  if (log !== undefined && !isRead) reach('the log had forgotten where it was read');
  for (const { action, state } of items) {
    const name = action === 'blocked' ? `planned as ${state}` : action;
    const milestone = PLAN_MILESTONES.find((one) => one === name);
    if (milestone !== undefined) reach(milestone);
  }
}

/** True if the plan has a write of an item whose write of an earlier revision is due. */
function hasDueInFormerForm({ items: planned }: Planned, { items }: LedgerState): boolean {
  return planned.some((item) => {
    const former = items.get(`${item.kind} ${item.key}`);
    if (!isWrite(item) || former?.open?.state !== 'due') return false;
    return Object.entries(item.fields).some(([field, change]) => change.new !== former.open?.desired?.[field]);
  });
}

/** What the platform has and the ledger does not know: products, materials, and the states of passports. */
function unknownAtPlatform({ world }: PlanWorld, { items }: LedgerState): ReadonlySet<string> {
  const known = new Map([...items.values()].map((item) => [`${item.kind} ${JSON.stringify(item.remoteId)}`, item]));
  const { products, materials, passports } = world.contents();
  const unknown = (kind: string, list: typeof products, field: string): string[] =>
    list
      .filter(({ id }) => !known.has(`${kind} ${JSON.stringify(id)}`))
      .map((item) => `${kind} ${textOf(item[field])}`);
  const states = passports.flatMap(({ product, status }) => {
    const key = known.get(`product ${JSON.stringify(product)}`)?.key;
    const sku = products.find(({ id }) => id === product)?.['sku'];
    const isKnown = items.get(`passport ${key}`)?.baseline?.['status'] === status;
    return isKnown ? [] : [`passport ${textOf(sku)} ${textOf(status)}`];
  });
  return new Set([...unknown('product', products, 'sku'), ...unknown('material', materials, 'code'), ...states]);
}

/**
 * The digests of all files of a folder. To read a ledger, SQLite makes two files beside it, which are left out. So are the copies of
 * processes that were killed, which the next plan removes.
 */
function filesOf(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries
      .filter((entry) => entry.isFile() && !/-(wal|shm)$/.test(entry.name))
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((file) => !file.includes('dpp-sync-plan-'))
      .map((file) => [file, createHash('sha256').update(readFileSync(file)).digest('hex')]),
  );
}
